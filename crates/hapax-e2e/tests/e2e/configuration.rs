//! Configuration: errors are reported with their location, and a change takes effect without losing a request.

mod reload;
mod secrets;
mod start;
