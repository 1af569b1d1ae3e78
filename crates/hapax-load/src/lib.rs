//! Load and proof: the parts of `hapax bench`, `hapax demo` and `hapax soak`.
//!
//! The service under test is always a child process of this same binary, driven only through its configuration file and
//! HTTP, as any user would. Nothing here reaches into the engine; only `preload` writes to a store, before a service
//! opens it.

pub(crate) mod answer;
pub mod attacker;
pub mod bench;
pub(crate) mod book;
pub mod ceiling;
pub mod child;
pub mod client;
pub(crate) mod connection;
pub mod demo;
pub mod interrupt;
pub(crate) mod machine;
pub(crate) mod memory;
pub mod preload;
pub mod prepare;
pub(crate) mod processor;
pub mod redis;
pub mod report;
pub(crate) mod service;
pub mod sink;
pub mod soak;
pub mod workspace;
