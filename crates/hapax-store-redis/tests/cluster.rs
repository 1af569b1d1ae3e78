//! The same laws on a real cluster of six servers, where one store's shards are on different masters.
#![expect(clippy::unwrap_used, reason = "a setup step that fails should fail the test")]

#[path = "laws/subject.rs"]
mod subject;

use subject::RedisSubject;

hapax_store_laws::laws!(RedisSubject::cluster());
