//! The responses of the ingest port: each row of the table in the contract, from a real request to its bytes.

mod durable;
mod explained;
mod pages;
mod processed;
mod refused;
mod still_sending;
mod unavailable;
