//! Makes every webhook take effect exactly once, inside your own service and your own transaction.
//!
//! The effect and the note that it was made commit together, in the same database: see [`tables`].

pub mod tables;
