//! Terminal output: text or JSON, tables, progress.

pub mod output;
pub mod progress;
pub mod spark;
pub mod table;
