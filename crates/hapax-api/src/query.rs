//! The query language: one text that says which events, in the API's `q`, the search box, the command line, bulk
//! replays and saved searches.
//!
//! ```text
//! source:stripe type:invoice.* status:dead duplicates:>1 body:/data/object/id=ord_1 since:2h
//! ```
//!
//! Terms are separated by white space, and every one must match. A word without a key is an event id. Quotes keep
//! white space in a value: `body:/customer/name="Ada L"`. The grammar is in docs/reference/query.md; [`KEYS`] is the
//! list of keys that the reference page, the completion and the errors all read.

mod complete;
mod keys;
mod parse;
mod print;
mod token;
mod translate;

pub use complete::{Known, Suggestion, complete};
pub use keys::{KEYS, Key};
pub use parse::{QueryError, parse};
pub use print::print;
pub use translate::translate;

/// Longest query that is read.
pub const QUERY_BYTES_MAX: usize = 2_048;
/// Most `body:` terms in one query.
pub const BODY_TERMS_MAX: usize = 4;

#[cfg(test)]
mod tests;
