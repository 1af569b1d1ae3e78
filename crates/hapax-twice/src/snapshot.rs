//! The state of the application, as text: the output of a command, or the result of a test's function.

mod command;

use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

pub(crate) use command::{CommandError, run_detached};

use crate::effect::State;

/// How long to wait for a handler to finish its work.
const SETTLE_LIMIT: Duration = Duration::from_secs(30);

type Failure = Box<dyn std::error::Error + Send + Sync>;
type Taking = Pin<Box<dyn Future<Output = Result<String, Failure>> + Send>>;

/// Takes snapshots.
pub(crate) struct Snapshot {
    take: Box<dyn Fn() -> Taking + Send + Sync>,
}

/// Why a snapshot failed.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The command or function failed.
    #[error("the snapshot could not be taken: {0}")]
    Failed(#[source] Failure),
    /// It keeps changing.
    #[error(
        "the snapshot was still changing after {SETTLE_LIMIT:?}; something other than this test changes the data that it shows. \
         Stop that, or leave it out of the snapshot"
    )]
    Restless,
}

impl Snapshot {
    /// Uses the output of a shell command.
    pub(crate) fn of_command(command: String) -> Self {
        Self::of_function(move || {
            let command = command.clone();
            async move { command::run(&command).await }
        })
    }

    /// Uses the result of a function.
    pub(crate) fn of_function<F, T, E>(take: F) -> Self
    where
        F: Fn() -> T + Send + Sync + 'static,
        T: Future<Output = Result<String, E>> + Send + 'static,
        E: Into<Failure>,
    {
        Self {
            take: Box::new(move || {
                let taking = take();
                Box::pin(async move { taking.await.map_err(Into::into) })
            }),
        }
    }

    /// The current state.
    pub(crate) async fn take(&self) -> Result<State, SnapshotError> {
        let text = (self.take)().await.map_err(SnapshotError::Failed)?;
        Ok(State::read(&text))
    }

    /// The stable state: two equal snapshots in a row, `apart` from each other. A handler may respond first and do its
    /// work afterwards.
    pub(crate) async fn settled(&self, apart: Duration) -> Result<State, SnapshotError> {
        let start = Instant::now();
        let mut last = self.take().await?;
        loop {
            tokio::time::sleep(apart).await;
            let next = self.take().await?;
            if next == last {
                return Ok(next);
            }
            if start.elapsed() > SETTLE_LIMIT {
                return Err(SnapshotError::Restless);
            }
            last = next;
        }
    }
}
