//! Requests as providers really send them: large bodies, multipart forms, a byte order mark before JSON, URLs with a
//! trailing slash, and custom signature schemes.

mod custom;
mod forms;
mod large;
mod urls;
