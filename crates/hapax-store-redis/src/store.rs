//! The store itself: passes inputs to tasks and answers back.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use hapax_core::store::{
    AcceptRequest, AliveReport, Claim, ConflictRecorded, ConflictingBody, Counts, Cursor, Error, EventPage,
    EventQuery, EventRecord, Forgotten, LeaseBatch, LeaseOrder, LedgerEntry, PurgeOrder, Purged, ReplayOrder,
    Replayed, Report, Rescued, Written,
};
use hapax_core::{EventId, Hold, Identity, SourceName, Store};

use crate::accept::Habit;
use crate::failure::Failure;
use crate::link::Link;
use crate::open::{self, OpenError, Warning};
use crate::purge::Progress;
use crate::url::Kind;
use crate::{
    Options, accept, alive, conflicts, counts, extend, finish, forget, get, hasten, lease, list, look_up,
    purge, replay, rescue,
};

/// The store for very high volume: a Redis server or a Redis Cluster, shared with any number of other processes.
///
/// A server may have answered writes that its replica does not have when it takes over: after a failover an event may
/// be delivered again, and without `WAIT` an acknowledged event may be lost. There is no transaction that a handler
/// could share.
pub struct RedisStore {
    /// For processing events, which never waits for anything else.
    pub(crate) link: Arc<Link>,
    /// For searches, upkeep and changes by operators.
    aside: Arc<Link>,
    options: ArcSwap<Options>,
    habit: Arc<Habit>,
    progress: Arc<Progress>,
    kind: Kind,
    warnings: Vec<Warning>,
}

impl RedisStore {
    /// Connects, and creates what does not exist yet. Leases of other processes stay valid.
    ///
    /// # Errors
    /// The server or cluster cannot be reached, may evict entries, or holds a store with another number of shards.
    pub async fn open(options: Options) -> Result<Self, OpenError> {
        let opened = open::open(&options).await?;
        Ok(Self {
            link: opened.link,
            aside: opened.aside,
            options: ArcSwap::from_pointee(options),
            habit: Arc::default(),
            progress: Arc::default(),
            kind: opened.kind,
            warnings: opened.warnings,
        })
    }

    /// The number of shards.
    pub fn shards(&self) -> u8 {
        self.link.shards().count()
    }

    /// Whether it is stored on a cluster.
    pub fn is_cluster(&self) -> bool {
        self.kind == Kind::Cluster
    }

    /// What a crash or a failover would cost, given the servers' settings.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Sets how many replicas each source waits for; sources not listed wait for none.
    pub fn set_wait(&self, wait: BTreeMap<SourceName, u8>) {
        let mut options = Options::clone(&self.options.load());
        options.wait = wait;
        self.options.store(Arc::new(options));
    }

    /// Runs a step that an event waits for.
    pub(crate) async fn run<T, F>(&self, step: impl FnOnce(Arc<Link>, Arc<Options>) -> F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Failure>> + Send + 'static,
    {
        self.run_on(&self.link, step).await
    }

    /// Runs a step over `asked` items for which events wait, with one answer per item.
    async fn run_each<T, F>(
        &self,
        asked: usize,
        step: impl FnOnce(Arc<Link>, Arc<Options>) -> F,
    ) -> Vec<Result<T, Error>>
    where
        T: Send + 'static,
        F: Future<Output = Vec<Result<T, Error>>> + Send + 'static,
    {
        let link = Arc::clone(&self.link);
        let step = step(Arc::clone(&link), self.options.load_full());
        let task = tokio::spawn(async move {
            match link.admit() {
                Ok(_place) => step.await,
                Err(_) => (0..asked).map(|_| Err(Error::Overloaded)).collect(),
            }
        });
        task.await.unwrap_or_else(|_| {
            let stopped = || Error::Unavailable {
                message: "the step was stopped".to_owned(),
                source: None,
            };
            (0..asked).map(|_| Err(stopped())).collect()
        })
    }

    /// Runs a step that no event waits for.
    pub(crate) async fn run_aside<T, F>(
        &self,
        step: impl FnOnce(Arc<Link>, Arc<Options>) -> F,
    ) -> Result<T, Error>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Failure>> + Send + 'static,
    {
        self.run_on(&self.aside, step).await
    }

    /// Runs a step in its own task: it finishes even if nobody waits for it any longer.
    async fn run_on<T, F>(
        &self,
        link: &Arc<Link>,
        step: impl FnOnce(Arc<Link>, Arc<Options>) -> F,
    ) -> Result<T, Error>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Failure>> + Send + 'static,
    {
        let link = Arc::clone(link);
        let step = step(Arc::clone(&link), self.options.load_full());
        let task = tokio::spawn(async move {
            let _place = link.admit()?;
            step.await
        });
        match task.await {
            Ok(outcome) => outcome.map_err(Failure::into_error),
            Err(error) => Err(Error::unavailable("the step was stopped", error)),
        }
    }
}

impl std::fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RedisStore").finish_non_exhaustive()
    }
}

#[async_trait]
impl Store for RedisStore {
    async fn accept(&self, requests: Vec<AcceptRequest>) -> Vec<Result<Vec<Claim>, Error>> {
        let (asked, habit) = (requests.len(), Arc::clone(&self.habit));
        self.run_each(asked, |link, options| async move {
            accept::accept(&link, &options, &habit, requests).await
        })
        .await
    }

    async fn record_conflicts(
        &self,
        other_bodies: Vec<ConflictingBody>,
    ) -> Vec<Result<ConflictRecorded, Error>> {
        self.run_each(other_bodies.len(), |link, options| async move {
            conflicts::record_conflicts(&link, &options, other_bodies).await
        })
        .await
    }

    async fn lease(&self, order: LeaseOrder) -> Result<LeaseBatch, Error> {
        self.run(|link, _| async move { lease::lease(&link, order).await })
            .await
    }

    async fn extend(&self, holds: Vec<Hold>, lease_for: Duration) -> Result<Vec<Written>, Error> {
        self.run(|link, _| async move { extend::extend(&link, holds, lease_for).await })
            .await
    }

    async fn finish(&self, reports: Vec<Report>) -> Result<Vec<Written>, Error> {
        self.run(|link, _| async move { finish::finish(&link, reports).await })
            .await
    }

    async fn rescue(&self, limit: u32) -> Result<Vec<Rescued>, Error> {
        self.run(|link, _| async move { rescue::rescue(&link, limit).await })
            .await
    }

    async fn report_alive(&self, report: AliveReport) -> Result<Vec<Rescued>, Error> {
        self.run(|link, _| async move { alive::report(&link, report).await })
            .await
    }

    fn shards(&self) -> usize {
        self.link.shards().count().into()
    }

    fn shard_of(&self, event: EventId) -> usize {
        self.link.shards().of_event(event).0.into()
    }

    async fn hasten(&self, event: EventId) -> Result<u32, Error> {
        self.run(|link, _| async move { hasten::hasten(&link, event).await })
            .await
    }

    async fn replay(&self, orders: Vec<ReplayOrder>) -> Result<Vec<Replayed>, Error> {
        self.run_aside(|link, _| async move { replay::replay(&link, orders).await })
            .await
    }

    async fn forget(&self, identity: &Identity) -> Result<Forgotten, Error> {
        let key = identity.key();
        self.run_aside(|link, _| async move { forget::forget(&link, key).await })
            .await
    }

    async fn look_up(&self, identity: &Identity) -> Result<Option<LedgerEntry>, Error> {
        let key = identity.key();
        self.run(|link, _| async move { look_up::look_up(&link, key).await })
            .await
    }

    async fn get(&self, id: EventId) -> Result<Option<EventRecord>, Error> {
        self.run(|link, _| async move { get::get(&link, id).await }).await
    }

    async fn list(&self, query: &EventQuery, after: Option<Cursor>, limit: u32) -> Result<EventPage, Error> {
        let query = query.clone();
        self.run_aside(|link, options| async move { list::list(&link, &options, &query, after, limit).await })
            .await
    }

    async fn counts(&self) -> Result<Counts, Error> {
        self.run_aside(|link, _| async move { counts::counts(&link).await })
            .await
    }

    async fn purge(&self, order: PurgeOrder) -> Result<Purged, Error> {
        let progress = Arc::clone(&self.progress);
        self.run_aside(|link, options| async move { purge::purge(&link, &options, &progress, &order).await })
            .await
    }

    fn connection_epoch(&self) -> u64 {
        self.link.epoch()
    }
}
