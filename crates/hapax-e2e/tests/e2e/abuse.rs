//! Abuse: what strangers send to hurt. Each is cut off at a limit, and real deliveries go on meanwhile.

mod bodies;
mod fuzz;
mod heads;
mod idle;
mod ids;
mod logs;
mod ports;
mod secrets;
mod slow;
