//! The wire format: documents, problem codes, the query language, and how times and sizes are written.

pub mod alert;
pub mod duration;
pub mod json;
pub mod moment;
pub(crate) mod number;
pub mod path;
pub mod problem;
pub mod query;
pub mod readable;
pub mod renamed;
pub mod schemas;
pub mod size;
pub mod views;
pub mod when;

/// The header in which a client describes the caller. It proves nothing and is shown as a note.
pub const NOTE_HEADER: &str = "hapax-note";
