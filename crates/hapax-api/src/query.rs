//! The query language: one string that selects events, used by the API's `q`, the search box, the command line, bulk
//! replays and saved searches.
//!
//! ```text
//! source:stripe type:invoice.* status:dead duplicates:>1 body:/data/object/id=ord_1 since:2h
//! ```
//!
//! Terms are separated by white space, and all of them must match. A word without a key is an event id. Quotes
//! preserve white space in a value: `body:/customer/name="Ada L"`. The grammar is in docs/reference/query.md.
//! [`KEYS`] lists the keys for the reference page, completion and error messages.

mod complete;
mod error;
mod keys;
mod parse;
mod print;
mod token;
mod translate;

pub use complete::{Known, Suggestion, complete};
pub use error::QueryError;
pub use keys::{KEYS, Key};
pub use parse::parse;
pub use print::print;
pub use translate::translate;

/// Maximum length of a query.
pub const QUERY_BYTES_MAX: usize = 2_048;
/// Maximum number of `body:` terms in one query.
pub const BODY_TERMS_MAX: usize = 4;

#[cfg(test)]
mod tests;
