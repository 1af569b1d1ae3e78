//! One file for each kind of attack.

mod commands;
mod files;
mod outbox_targets;
mod postgres_tls;
#[path = "../service/certificate.rs"]
mod certificate;
mod keys;
mod border;
mod report;
mod stored_secrets;
mod same_body;
