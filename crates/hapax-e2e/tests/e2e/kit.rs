//! The production kit: the printed files, whether their configurations are valid, and the messages to a service
//! manager.

mod health;
mod printed;
mod rolling;
mod systemd;
