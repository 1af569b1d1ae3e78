//! Abuse: what strangers send to hurt. Each is cut off at a limit, and real deliveries go on meanwhile.

mod bodies;
mod heads;
mod ids;
mod idle;
mod slow;
