//! The library against real databases: each law is written once and holds for every driver.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "test helpers may panic, like the tests themselves"
)]

mod batches;
mod cancelled;
mod extractor;
mod guides;
mod laws;
mod layer;
mod receive;
mod rusqlite;
mod sqlx_postgres;
mod stripe;
mod subject;
mod tokio_postgres;
