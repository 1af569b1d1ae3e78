//! The production kit: what is printed, whether its configurations are right, and what a service manager is told.

mod health;
mod printed;
mod rolling;
mod systemd;
