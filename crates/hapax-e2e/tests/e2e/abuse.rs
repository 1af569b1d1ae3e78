//! Abuse: requests that strangers send to do harm. Each is cut off at a limit, and real deliveries continue.

mod bodies;
mod fuzz;
mod heads;
mod idle;
mod ids;
mod logs;
mod ports;
mod secrets;
mod slow;
