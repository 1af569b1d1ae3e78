//! The plain Rust behind the native modules of the Python and TypeScript libraries: verification, identity, signing and
//! answers. Each module only translates these types into its language's.
//!
//! Nothing here does I/O. The clock is read only where the caller leaves out the time.

mod call;
mod custom;
mod error;
mod facts;
mod headers;
mod identity;
mod received;
mod sample;
mod signing;
mod source;
mod sql;
mod trouble;

pub use call::check_call;
pub use error::{Error, ErrorCode};
pub use facts::{Limits, OptionFacts, ProviderFacts, limits, providers, version};
pub use headers::{headers, joined_headers, latin1};
pub use identity::{body_hash, call_key, check_name, idempotency_key};
pub use received::{Confirmation, Event, KeyRequest, Received, Refusal, Reply, ViaHapax};
pub use sample::{Delivery, SampleSettings};
pub use source::{KeyMap, ProviderSettings, RequestHead, Source, SourceSettings, body_limit};
pub use sql::{Sql, sql};
pub use trouble::{sqlite_trouble, trouble};
