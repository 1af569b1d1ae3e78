//! One file for each kind of attack.

mod files;
mod postgres_tls;
mod report;
