//! One file for each kind of attack.

mod postgres_tls;
mod report;
