//! The store itself: passes inputs to tasks and answers back.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt;
use hapax_core::store::{
    AcceptRequest, AliveReport, Claim, ConflictRecorded, ConflictingBody, Counts, Cursor, Error, EventPage,
    EventQuery, EventRecord, Forgotten, LeaseBatch, LeaseOrder, LedgerEntry, PurgeOrder, Purged, ReplayOrder,
    Replayed, Report, Rescued, Written,
};
use hapax_core::{EventId, Hold, Identity, Store};

use crate::open;
use crate::open_error::OpenError;
use crate::pool::{Maker, Pool};
use crate::purge::Progress;
use crate::session::Terms;
use crate::step::{Runner, Step};
use crate::vacuum::Vacuum;
use crate::workers::Workers;
use crate::{
    Options, Spread, accept, alive, conflicts, counts, extend, finish, forget, get, hasten, lease, list,
    look_up, purge, replay, rescue,
};

/// The store for many replicas: a PostgreSQL database shared with any number of other processes.
pub struct PostgresStore {
    /// For processing events, which never waits for anything else.
    runner: Runner,
    /// For upkeep and changes by operators.
    upkeep: Runner,
    /// For searches and lists.
    searches: Runner,
    options: Arc<Options>,
    progress: Arc<Progress>,
    vacuum: Arc<Vacuum>,
    /// Where the tables are distributed.
    workers: Option<Arc<Workers>>,
}

impl PostgresStore {
    /// Connects and migrates the schema to this program's version. Leases of other processes stay valid.
    ///
    /// # Errors
    /// The server cannot be reached, is too old or may lose commits, or the schema was written by a newer version. The
    /// schema is then unchanged.
    pub async fn open(options: Options) -> Result<Self, OpenError> {
        let (connector, spread) = open::open(&options).await?;
        let maker = Arc::new(Maker::new(connector));
        let runner = |purpose, settings, connections_max| Runner {
            pool: Arc::new(Pool::new(&maker, purpose, settings, connections_max, &options)),
            terms: Terms::new(&options, spread),
            step_timeout: options.step_timeout,
        };
        let events = runner("events", Terms::of_session(&options), options.connections_max);
        let upkeep = runner("upkeep", String::new(), options.upkeep_connections_max);
        let searches = runner("searches", String::new(), options.search_connections_max);
        let options = Arc::new(options);
        let workers = match spread {
            Spread::ByBucket if options.spread.is_none() => Some(Workers::find(&events, &options).await),
            Spread::ByBucket | Spread::Whole => None,
        };
        Ok(Self {
            runner: events,
            upkeep,
            searches,
            options,
            progress: Arc::default(),
            vacuum: Arc::default(),
            workers,
        })
    }

    /// How the tables are distributed, as found at the start.
    pub const fn spread(&self) -> Spread {
        self.runner.terms.spread()
    }

    /// Whether statements are prepared, as far as is known by now.
    pub fn prepares(&self) -> bool {
        self.runner.pool.prepares()
    }

    /// Runs a step that an event waits for.
    pub(crate) async fn run<I, O>(&self, input: I, step: Step<I, O>) -> Result<O, Error>
    where
        I: Send + Sync + 'static,
        O: Send + 'static,
    {
        run(&self.runner, input, step).await
    }

    /// Writes `asked` items for which events wait, with one answer per item.
    async fn run_each<T, F>(&self, asked: usize, write: impl FnOnce(Runner) -> F) -> Vec<Result<T, Error>>
    where
        T: Send + 'static,
        F: Future<Output = Vec<Result<T, Error>>> + Send + 'static,
    {
        let Ok(place) = self.runner.pool.admit() else {
            return (0..asked).map(|_| Err(Error::Overloaded)).collect();
        };
        let write = write(self.runner.clone());
        let task = tokio::spawn(async move {
            let answers = write.await;
            drop(place);
            answers
        });
        task.await.unwrap_or_else(|_| {
            let stopped = || Error::Unavailable {
                message: "the step was stopped".to_owned(),
                source: None,
            };
            (0..asked).map(|_| Err(stopped())).collect()
        })
    }

    /// Runs a step of upkeep or of an operator.
    pub(crate) async fn keep_up<I, O>(&self, input: I, step: Step<I, O>) -> Result<O, Error>
    where
        I: Send + Sync + 'static,
        O: Send + 'static,
    {
        run(&self.upkeep, input, step).await
    }

    /// Runs a search.
    pub(crate) async fn search<I, O>(&self, input: I, step: Step<I, O>) -> Result<O, Error>
    where
        I: Send + Sync + 'static,
        O: Send + 'static,
    {
        run(&self.searches, input, step).await
    }
}

/// Runs a step in its own task: it finishes even if nobody waits for it any longer.
async fn run<I, O>(runner: &Runner, input: I, step: Step<I, O>) -> Result<O, Error>
where
    I: Send + Sync + 'static,
    O: Send + 'static,
{
    let place = runner.pool.admit()?;
    let runner = runner.clone();
    let task = tokio::spawn(async move {
        let outcome = runner.run(&input, step).await;
        drop(place);
        outcome
    });
    match task.await {
        Ok(outcome) => outcome.map_err(|failure| failure.to_error()),
        Err(error) => Err(Error::unavailable("the step was stopped", error)),
    }
}

impl std::fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresStore").finish_non_exhaustive()
    }
}

#[async_trait]
impl Store for PostgresStore {
    async fn accept(&self, requests: Vec<AcceptRequest>) -> Vec<Result<Vec<Claim>, Error>> {
        let workers = self.workers.clone();
        self.run_each(requests.len(), |runner| async move {
            match workers {
                Some(workers) => accept::accept_on_workers(&runner, &workers, requests).await,
                None => accept::accept(&runner, requests).await,
            }
        })
        .await
    }

    async fn record_conflicts(
        &self,
        other_bodies: Vec<ConflictingBody>,
    ) -> Vec<Result<ConflictRecorded, Error>> {
        self.run_each(other_bodies.len(), |runner| async move {
            conflicts::record_conflicts(&runner, other_bodies).await
        })
        .await
    }

    async fn lease(&self, order: LeaseOrder) -> Result<LeaseBatch, Error> {
        self.run(order, |session, order| lease::lease(session, order).boxed())
            .await
    }

    async fn extend(&self, holds: Vec<Hold>, lease_for: Duration) -> Result<Vec<Written>, Error> {
        self.run((holds, lease_for), |session, input| {
            extend::extend(session, input).boxed()
        })
        .await
    }

    async fn finish(&self, reports: Vec<Report>) -> Result<Vec<Written>, Error> {
        let rows = reports.len();
        let written = self
            .run(reports, |session, reports| {
                finish::finish(session, reports).boxed()
            })
            .await?;
        self.vacuum
            .finished(rows, self.options.vacuum_after, &self.upkeep);
        Ok(written)
    }

    async fn rescue(&self, limit: u32) -> Result<Vec<Rescued>, Error> {
        self.run(limit, |session, limit| rescue::rescue(session, *limit).boxed())
            .await
    }

    async fn report_alive(&self, report: AliveReport) -> Result<Vec<Rescued>, Error> {
        self.run(report, |session, report| alive::report(session, *report).boxed())
            .await
    }

    async fn hasten(&self, event: EventId) -> Result<u32, Error> {
        self.run(event, |session, event| hasten::hasten(session, *event).boxed())
            .await
    }

    async fn replay(&self, orders: Vec<ReplayOrder>) -> Result<Vec<Replayed>, Error> {
        let mut answers = Vec::with_capacity(orders.len());
        for part in replay::parts(orders) {
            let replayed = self.keep_up(part, |session, part| replay::replay(session, part).boxed());
            answers.extend(replayed.await?);
        }
        Ok(answers)
    }

    async fn forget(&self, identity: &Identity) -> Result<Forgotten, Error> {
        self.keep_up(identity.clone(), |session, identity| {
            forget::forget(session, identity).boxed()
        })
        .await
    }

    async fn look_up(&self, identity: &Identity) -> Result<Option<LedgerEntry>, Error> {
        self.run(identity.clone(), |session, identity| {
            look_up::look_up(session, identity).boxed()
        })
        .await
    }

    async fn get(&self, id: EventId) -> Result<Option<EventRecord>, Error> {
        self.run(id, |session, id| get::get(session, *id).boxed()).await
    }

    async fn list(&self, query: &EventQuery, after: Option<Cursor>, limit: u32) -> Result<EventPage, Error> {
        let page = list::Page {
            query: query.clone(),
            after,
            limit,
            scan_max: self.options.list_scan_max,
        };
        self.search(page, |session, page| list::list(session, page).boxed())
            .await
    }

    async fn counts(&self) -> Result<Counts, Error> {
        self.keep_up((), |session, ()| counts::counts(session).boxed())
            .await
    }

    async fn purge(&self, order: PurgeOrder) -> Result<Purged, Error> {
        let place = self.upkeep.pool.admit()?;
        let runner = self.upkeep.clone();
        let progress = Arc::clone(&self.progress);
        let options = Arc::clone(&self.options);
        let task = tokio::spawn(async move {
            let outcome = purge::purge(&runner, &progress, &options, order).await;
            drop(place);
            outcome
        });
        match task.await {
            Ok(outcome) => outcome.map_err(|failure| failure.to_error()),
            Err(error) => Err(Error::unavailable("the step was stopped", error)),
        }
    }

    fn connection_epoch(&self) -> u64 {
        let of_workers = self.workers.as_ref().map_or(0, |workers| workers.epoch());
        self.runner.pool.epoch() + of_workers
    }
}
