//! The runner of one law.

use std::sync::Arc;
use std::time::Duration;

use crate::bench::Must;
use crate::{Bench, Subject};

/// A law that takes longer than this hangs: the store waits for something that never happens.
pub const LAW_LIMIT: Duration = Duration::from_secs(120);

/// Runs one law against a fresh store of `subject`, on its own runtime.
pub fn check(subject: Arc<dyn Subject>, law: impl AsyncFnOnce(&mut Bench)) {
    runtime().block_on(async {
        let mut bench = Bench::open(subject).await;
        tokio::time::timeout(LAW_LIMIT, law(&mut bench)).await.must();
    });
}

/// Several threads, so that concurrent calls really run concurrently.
pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .enable_all()
        .build()
        .must()
}
