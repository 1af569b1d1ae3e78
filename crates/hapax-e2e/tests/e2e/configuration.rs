//! Configuration: what is wrong is said with its place, and a change is taken without losing a request.

mod reload;
mod secrets;
mod start;
