//! One file for each kind of attack.

mod actors;
mod audit;
mod border;
#[path = "../service/certificate.rs"]
mod certificate;
mod commands;
mod copied_store;
mod files;
mod forged_address;
mod http2;
mod keys;
mod outbox_targets;
mod postgres_tls;
mod report;
mod same_body;
mod sign_in;
mod stored_secrets;
