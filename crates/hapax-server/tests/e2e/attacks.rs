//! One file for each kind of attack.

mod commands;
mod files;
mod postgres_tls;
mod report;
