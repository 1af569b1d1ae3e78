//! The library against real databases: each law is written once and holds for every driver.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what a test stands on may panic, as the test itself"
)]

mod batches;
mod cancelled;
mod extractor;
mod guides;
mod laws;
mod layer;
mod rusqlite;
mod sqlx_postgres;
mod stripe;
mod subject;
mod tokio_postgres;
