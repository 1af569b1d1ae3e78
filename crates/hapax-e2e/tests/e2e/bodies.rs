//! Requests as senders really make them: large bodies, forms in parts, marks before JSON, URLs with a slash at their end, and
//! proofs of a source's own.

mod custom;
mod forms;
mod large;
mod urls;
