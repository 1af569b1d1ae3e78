//! Every law of the store's contract, and the random walk against the model, on a real server.
#![expect(clippy::unwrap_used, reason = "a setup step that fails should fail the test")]

#[path = "laws/subject.rs"]
mod subject;

use subject::RedisSubject;

hapax_store_laws::laws!(RedisSubject::one_server());

/// The same laws on an encrypted store.
mod sealed {
    use hapax_store_laws::SealedSubject;

    use super::subject::RedisSubject;

    hapax_store_laws::laws!(SealedSubject::new(RedisSubject::one_server()));
}
