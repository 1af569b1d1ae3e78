//! The same laws with every bucketed table partitioned by bucket and statements run bucket by bucket, as on a
//! distributed database; and a check of each statement's plan.
#![expect(clippy::unwrap_used, reason = "a setup step that fails should fail the test")]

#[path = "spread/one_bucket.rs"]
mod one_bucket;
#[path = "laws/subject.rs"]
mod subject;

use std::sync::Arc;

use hapax_test_postgres::Server;
use subject::{Layout, PostgresSubject};

hapax_store_laws::laws!(PostgresSubject::new(Layout::Partitioned(Arc::new(
    Server::shared().unwrap()
))));
