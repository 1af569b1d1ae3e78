//! Every law of the store's contract, and the random walk against the model, on a real server.
#![expect(clippy::unwrap_used, reason = "a setup step that fails should fail the test")]

#[path = "laws/subject.rs"]
mod subject;

use std::sync::Arc;

use hapax_test_postgres::Server;
use subject::{Layout, PostgresSubject};

hapax_store_laws::laws!(PostgresSubject::new(Layout::Plain(Arc::new(
    Server::shared().unwrap()
))));

/// The same laws on an encrypted store.
mod sealed {
    use std::sync::Arc;

    use hapax_store_laws::SealedSubject;
    use hapax_test_postgres::Server;

    use super::subject::{Layout, PostgresSubject};

    hapax_store_laws::laws!(SealedSubject::new(PostgresSubject::new(Layout::Plain(Arc::new(
        Server::shared().unwrap()
    )))));
}
