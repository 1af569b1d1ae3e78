//! What a terminal shows: text or JSON, tables, progress.

pub mod output;
pub mod progress;
pub mod spark;
pub mod table;
