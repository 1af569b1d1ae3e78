//! The command line: the verbs, the client of the admin API, and exit codes.

pub mod client;
pub mod exit;
pub mod globals;
pub mod verbs;
