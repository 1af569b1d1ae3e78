//! Load and proof: what `hapax bench`, `hapax demo` and `hapax send` are made of.
//!
//! The service under test is always a child process of this very binary, driven only through its configuration file
//! and HTTP, as any user would. Nothing here reaches into the engine; `preload` alone writes to a store, before a
//! service opens it.

pub(crate) mod answer;
pub(crate) mod attacker;
pub(crate) mod bench;
pub(crate) mod book;
pub(crate) mod ceiling;
pub(crate) mod child;
pub(crate) mod client;
pub(crate) mod connection;
pub(crate) mod demo;
pub(crate) mod interrupt;
pub(crate) mod machine;
pub(crate) mod memory;
pub(crate) mod preload;
pub(crate) mod prepare;
pub(crate) mod processor;
pub(crate) mod progress;
pub(crate) mod redis;
pub(crate) mod report;
pub(crate) mod service;
pub(crate) mod sink;
pub(crate) mod soak;
pub(crate) mod workspace;
