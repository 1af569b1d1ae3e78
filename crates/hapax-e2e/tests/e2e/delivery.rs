//! Delivery: what a destination gets, when it gets it again, in which order, and how much at once.

mod command;
mod dead;
mod lease;
mod limits;
mod order;
mod pause;
mod refused;
mod request;
mod retry;
