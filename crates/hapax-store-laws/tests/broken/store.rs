//! A store that breaks one promise: the model, with a fault in front of it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use hapax_core::store::{
    AcceptRequest, AliveReport, AuditEntry, AuditHead, AuditLink, AuditRecord, Binding, BodyNote, Census,
    Claim, ConflictRecorded, ConflictingBody, Counts, Cursor, DeadGroup, DeadQuery, DeliveryView, Disposal,
    Driver, DuplicateNote, DuplicateTally, Erased, Error, EventPage, EventQuery, EventRecord, Expected,
    Forgotten, ImportBegun, ImportMark, IndexedField, LeaseBatch, LeaseOrder, LedgerEntry, MigrationCursor,
    MigrationPage, NamedValue, Origin, Pause, PurgeOrder, Purged, Record, ReplayJob, ReplayJobId,
    ReplayOrder, Replayed, Report, Rescued, Resealed, Swapped, TimeRange, TrafficRow, Unfinished, ValueSpace,
    ValueSwap, Written,
};
use hapax_core::{
    AttemptOutcome, Backend, BodyHash, DeliveryState, DestinationId, EventId, Generation, Hold, Identity,
    Key, Operations, Owner, Scope, SourceName, Store, StoreMigration, Timestamp, Token,
};
use hapax_store_laws::bench::Must;
use hapax_store_laws::model::{MemorySubject, Restart};
use hapax_store_laws::{MemoryStore, Subject};
use parking_lot::Mutex;

/// The promise that is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// None: the wrapper itself changes nothing.
    Nothing,
    /// Reads, and only then inserts: duplicates that read at the same time are all new.
    LooksThenInserts,
    /// Compares ids without regard to case.
    FoldsCase,
    /// Writes whatever token is given.
    IgnoresTokens,
    /// Issues the same token every time.
    ReusesTokens,
    /// Takes leases back before they end.
    RescuesTheLiving,
    /// Declares owners dead as soon as it sees their silence.
    JudgesInHaste,
    /// Leaves dead owners their leases.
    WaitsForTheDead,
    /// Counts a released delivery as attempted.
    CountsReleases,
    /// Makes everything in a lane due at once.
    IgnoresLanes,
    /// Lets a lane continue after a dead head that should hold it.
    NeverHolds,
    /// Purges dead letters with the payloads.
    PurgesDeadLetters,
    /// Purges ledger entries whose event is still stored.
    PurgesLedgerFirst,
    /// Loses everything in a crash.
    LosesEverything,
    /// Stores the progress of a cancelled job.
    AdvancesCancelledJobs,
    /// Exports events without their unfinished deliveries.
    CopiesWithoutWork,
    /// Issues the tokens of the original again.
    CopiesWithoutNumbers,
    /// Imports on top of existing data.
    CopiesIntoAnything,
    /// Lets every driver claim a job.
    SharesJobs,
    /// Ignores the other conflicts of the same call when it counts.
    CountsConflictsAlone,
    /// Refuses every conflict of a call because of one that it cannot store.
    RefusesConflictsTogether,
    /// Lists by source, status, type and time alone.
    IgnoresFilters,
    /// Mixes the rows of all processes.
    MixesTraffic,
    /// Starts an index over with every declaration.
    ForgetsIndexes,
    /// Counts discarded deliveries as dead.
    GroupsDiscarded,
    /// Replaces values in one kind of space whatever they are.
    SwapsBlindly(SpaceKind),
    /// Claims to keep any number of values in one kind of space.
    KeepsEveryValue(SpaceKind),
    /// Keeps the values of all sources together.
    MixesSources,
    /// Binds a name to any body.
    BindsToAnything,
    /// Forgets where the audit trail ends.
    LosesTheAuditHead,
    /// Claims that it erased, and keeps everything.
    ErasesNothing,
    /// Erases events with unfinished deliveries without being told to.
    ErasesUnfinishedWork,
}

/// A kind of space for values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpaceKind {
    SavedSearches,
    Alerts,
    Source,
}

impl SpaceKind {
    const fn of(space: &ValueSpace) -> Self {
        match space {
            ValueSpace::SavedSearches => Self::SavedSearches,
            ValueSpace::Alerts => Self::Alerts,
            ValueSpace::Source(_) => Self::Source,
        }
    }
}

pub(crate) struct BrokenSubject {
    inner: MemorySubject,
    fault: Fault,
}

impl BrokenSubject {
    pub(crate) fn new(fault: Fault) -> Self {
        Self {
            inner: MemorySubject::new(Restart::VoidsLeases),
            fault,
        }
    }

    fn wrap(&self, inner: MemoryStore) -> Arc<dyn Backend> {
        Arc::new(Broken {
            inner,
            fault: self.fault,
            inserted: Mutex::default(),
            tokens: Mutex::default(),
        })
    }
}

#[async_trait]
impl Subject for BrokenSubject {
    async fn fresh(&self) -> Arc<dyn Backend> {
        self.wrap(self.inner.store())
    }

    async fn reopen(&self, crashed: Arc<dyn Backend>) -> Arc<dyn Backend> {
        drop(crashed);
        match self.fault {
            Fault::LosesEverything => self.wrap(self.inner.store()),
            _ => self.wrap(self.inner.restarted()),
        }
    }

    async fn now(&self) -> Timestamp {
        self.inner.now().await
    }

    async fn pass(&self, duration: Duration) {
        self.inner.pass(duration).await;
    }
}

struct Broken {
    inner: MemoryStore,
    fault: Fault,
    inserted: Mutex<HashSet<Key>>,
    /// The last token of each delivery, for faults that ignore the given one.
    tokens: Mutex<HashMap<(EventId, DestinationId), Token>>,
}

impl Broken {
    fn has(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    fn space(&self, space: &ValueSpace) -> ValueSpace {
        match space {
            ValueSpace::Source(_) if self.has(Fault::MixesSources) => ValueSpace::Source("all".into()),
            ValueSpace::SavedSearches | ValueSpace::Alerts | ValueSpace::Source(_) => space.clone(),
        }
    }

    fn spoil(&self, request: &mut AcceptRequest) {
        for event in &mut request.events {
            if self.has(Fault::FoldsCase) {
                event.identity.event_id = event.identity.event_id.to_lowercase();
                event.key = event.identity.key();
            }
            for delivery in &mut event.deliveries {
                if self.has(Fault::IgnoresLanes) {
                    delivery.lane = None;
                }
                if let (true, Some(lane)) = (self.has(Fault::NeverHolds), &mut delivery.lane) {
                    lane.on_dead = hapax_core::OnDead::Skip;
                }
            }
        }
    }

    /// The hold that is passed to the inner store.
    fn shown(&self, hold: Hold) -> Hold {
        if !self.has(Fault::IgnoresTokens) && !self.has(Fault::ReusesTokens) {
            return hold;
        }
        let known = self.tokens.lock();
        match known.get(&(hold.event, hold.destination.clone())) {
            Some(token) => Hold {
                token: *token,
                ..hold
            },
            None => hold,
        }
    }
}

#[async_trait]
impl Store for Broken {
    async fn accept(&self, mut requests: Vec<AcceptRequest>) -> Vec<Result<Vec<Claim>, Error>> {
        for request in &mut requests {
            self.spoil(request);
        }
        let keys: Vec<Vec<Key>> = requests
            .iter()
            .map(|request| request.events.iter().map(|event| event.key).collect())
            .collect();
        let before: HashSet<Key> = self.inserted.lock().clone();
        tokio::task::yield_now().await;
        let mut answers = self.inner.accept(requests).await;
        tokio::task::yield_now().await;
        for (answer, keys) in answers.iter_mut().zip(keys) {
            for (claim, key) in answer.iter_mut().flatten().zip(keys) {
                if self.has(Fault::LooksThenInserts) && !before.contains(&key) {
                    *claim = Claim::New {
                        generation: Generation(0),
                        tokens: Vec::new(),
                    };
                }
                self.inserted.lock().insert(key);
            }
        }
        answers
    }

    async fn record_conflicts(
        &self,
        other_bodies: Vec<ConflictingBody>,
    ) -> Vec<Result<ConflictRecorded, Error>> {
        let mut answers = self.inner.record_conflicts(other_bodies).await;
        if self.has(Fault::CountsConflictsAlone) {
            let full = answers.iter_mut().flatten();
            full.filter(|answer| **answer == ConflictRecorded::Full)
                .for_each(|answer| *answer = ConflictRecorded::Kept);
        }
        if self.has(Fault::RefusesConflictsTogether) && answers.iter().any(Result::is_err) {
            let refused = || Error::Rejected {
                message: "one of them cannot be stored".to_owned(),
            };
            answers.fill_with(|| Err(refused()));
        }
        answers
    }

    async fn lease(&self, order: LeaseOrder) -> Result<LeaseBatch, Error> {
        let mut batch = self.inner.lease(order).await?;
        for leased in &mut batch.leased {
            let row = (leased.event.id, leased.destination.clone());
            self.tokens.lock().insert(row, leased.token);
            if self.has(Fault::ReusesTokens) {
                leased.token = Token(1);
            }
        }
        Ok(batch)
    }

    async fn extend(&self, holds: Vec<Hold>, lease_for: Duration) -> Result<Vec<Written>, Error> {
        let holds = holds.into_iter().map(|hold| self.shown(hold)).collect();
        self.inner.extend(holds, lease_for).await
    }

    async fn finish(&self, mut reports: Vec<Report>) -> Result<Vec<Written>, Error> {
        for report in &mut reports {
            report.hold = self.shown(report.hold.clone());
            if self.has(Fault::CountsReleases) && report.outcome == AttemptOutcome::Release {
                report.outcome = AttemptOutcome::Retry {
                    after: Duration::ZERO,
                };
            }
        }
        self.inner.finish(reports).await
    }

    async fn rescue(&self, limit: u32) -> Result<Vec<Rescued>, Error> {
        if self.has(Fault::RescuesTheLiving) {
            self.inner.void_leases();
        }
        self.inner.rescue(limit).await
    }

    async fn report_alive(&self, mut report: AliveReport) -> Result<Vec<Rescued>, Error> {
        if self.has(Fault::JudgesInHaste) {
            report.patience.reachable = Duration::ZERO;
        }
        if self.has(Fault::WaitsForTheDead) {
            report.limit = 0;
        }
        self.inner.report_alive(report).await
    }

    async fn hasten(&self, event: EventId) -> Result<u32, Error> {
        self.inner.hasten(event).await
    }

    async fn replay(&self, orders: Vec<ReplayOrder>) -> Result<Vec<Replayed>, Error> {
        self.inner.replay(orders).await
    }

    async fn forget(&self, identity: &Identity) -> Result<Forgotten, Error> {
        self.inner.forget(identity).await
    }

    async fn look_up(&self, identity: &Identity) -> Result<Option<LedgerEntry>, Error> {
        self.inner.look_up(identity).await
    }

    async fn get(&self, id: EventId) -> Result<Option<EventRecord>, Error> {
        self.inner.get(id).await
    }

    async fn list(&self, query: &EventQuery, after: Option<Cursor>, limit: u32) -> Result<EventPage, Error> {
        let mut query = query.clone();
        if self.has(Fault::IgnoresFilters) {
            query = EventQuery {
                source: query.source,
                status: query.status,
                event_type: query.event_type,
                event_id: query.event_id,
                since: query.since,
                until: query.until,
                ..EventQuery::default()
            };
        }
        self.inner.list(&query, after, limit).await
    }

    async fn counts(&self) -> Result<Counts, Error> {
        self.inner.counts().await
    }

    async fn purge(&self, mut order: PurgeOrder) -> Result<Purged, Error> {
        if self.has(Fault::PurgesDeadLetters) {
            for window in &mut order.windows {
                window.dead_before = window.payload_before;
            }
        }
        if self.has(Fault::PurgesLedgerFirst) {
            for event in self.inner.list(&EventQuery::default(), None, 100).await?.events {
                let identity = self.inner.get(event.id).await?.must().event.identity;
                self.inner.forget(&identity).await?;
            }
        }
        self.inner.purge(order).await
    }

    fn connection_epoch(&self) -> u64 {
        self.inner.connection_epoch()
    }
}

#[async_trait]
impl Operations for Broken {
    async fn probe(&self) -> Result<(), Error> {
        self.inner.probe().await
    }

    async fn pause(&self, pause: Pause) -> Result<(), Error> {
        self.inner.pause(pause).await
    }

    async fn resume(&self, destination: &DestinationId) -> Result<bool, Error> {
        self.inner.resume(destination).await
    }

    async fn pauses(&self) -> Result<Vec<Pause>, Error> {
        self.inner.pauses().await
    }

    async fn swap_value(&self, swap: ValueSwap) -> Result<Swapped, Error> {
        let mut swap = swap;
        let kind = SpaceKind::of(&swap.space);
        swap.space = self.space(&swap.space);
        if self.has(Fault::SwapsBlindly(kind)) {
            swap.expected = Expected::Anything;
        }
        let swapped = self.inner.swap_value(swap).await?;
        if swapped == Swapped::Full && self.has(Fault::KeepsEveryValue(kind)) {
            return Ok(Swapped::Done);
        }
        Ok(swapped)
    }

    async fn value(&self, space: &ValueSpace, name: &str) -> Result<Option<Vec<u8>>, Error> {
        self.inner.value(&self.space(space), name).await
    }

    async fn values(&self, space: &ValueSpace) -> Result<Vec<NamedValue>, Error> {
        self.inner.values(&self.space(space)).await
    }

    async fn sources_with_values(&self) -> Result<Vec<SourceName>, Error> {
        self.inner.sources_with_values().await
    }

    async fn record(&self, entry: AuditEntry) -> Result<AuditLink, Error> {
        self.inner.record(entry).await
    }

    async fn audit_head(&self) -> Result<AuditHead, Error> {
        match self.fault {
            Fault::LosesTheAuditHead => Ok(AuditHead::default()),
            _ => self.inner.audit_head().await,
        }
    }

    async fn audit(
        &self,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<(Vec<AuditRecord>, Option<Cursor>), Error> {
        self.inner.audit(after, limit).await
    }

    async fn deliveries(
        &self,
        query: &DeadQuery,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<(Vec<DeliveryView>, Option<Cursor>), Error> {
        self.inner.deliveries(query, after, limit).await
    }

    async fn dead_groups(&self, limit: u32) -> Result<Vec<DeadGroup>, Error> {
        let mut groups = self.inner.dead_groups(limit).await?;
        if self.has(Fault::GroupsDiscarded) {
            let query = DeadQuery {
                state: DeliveryState::Discarded,
                destination: None,
            };
            for view in self.inner.deliveries(&query, None, limit).await?.0 {
                groups.push(DeadGroup {
                    destination: view.destination,
                    error: view.error,
                    count: 1,
                    first_at: Timestamp::default(),
                    last_at: Timestamp::default(),
                    last: view.event,
                });
            }
        }
        Ok(groups)
    }

    async fn dispose(
        &self,
        deliveries: Vec<(EventId, DestinationId)>,
        disposal: Disposal,
    ) -> Result<u64, Error> {
        self.inner.dispose(deliveries, disposal).await
    }

    async fn erase(&self, events: Vec<EventId>, unfinished: Unfinished) -> Result<Vec<Erased>, Error> {
        match self.fault {
            Fault::ErasesNothing => Ok(vec![Erased::Now { discarded: 0 }; events.len()]),
            Fault::ErasesUnfinishedWork => self.inner.erase(events, Unfinished::Discard).await,
            _ => self.inner.erase(events, unfinished).await,
        }
    }

    async fn create_replay(&self, job: ReplayJob) -> Result<(), Error> {
        self.inner.create_replay(job).await
    }

    async fn replay_job(&self, id: ReplayJobId) -> Result<Option<ReplayJob>, Error> {
        self.inner.replay_job(id).await
    }

    async fn replay_jobs(
        &self,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<(Vec<ReplayJob>, Option<Cursor>), Error> {
        self.inner.replay_jobs(after, limit).await
    }

    async fn unfinished_replays(&self) -> Result<Vec<ReplayJob>, Error> {
        self.inner.unfinished_replays().await
    }

    async fn claim_replay(&self, id: ReplayJobId, driver: Driver) -> Result<Option<ReplayJob>, Error> {
        if self.has(Fault::SharesJobs) {
            return self.inner.replay_job(id).await;
        }
        self.inner.claim_replay(id, driver).await
    }

    async fn advance_replay(&self, job: &ReplayJob, driver: Driver) -> Result<bool, Error> {
        if self.has(Fault::AdvancesCancelledJobs) {
            self.inner.create_replay(job.clone()).await?;
            return Ok(true);
        }
        self.inner.advance_replay(job, driver).await
    }

    async fn cancel_replay(&self, id: ReplayJobId) -> Result<bool, Error> {
        self.inner.cancel_replay(id).await
    }

    async fn note_duplicates(&self, notes: Vec<DuplicateNote>) -> Result<(), Error> {
        self.inner.note_duplicates(notes).await
    }

    async fn duplicates(&self, identity: &Identity) -> Result<Option<DuplicateTally>, Error> {
        self.inner.duplicates(identity).await
    }

    async fn declare_indexes(
        &self,
        fields: Vec<IndexedField>,
    ) -> Result<Vec<(IndexedField, Timestamp)>, Error> {
        if self.has(Fault::ForgetsIndexes) {
            self.inner.declare_indexes(Vec::new()).await?;
        }
        self.inner.declare_indexes(fields).await
    }

    async fn put_traffic(&self, rows: Vec<TrafficRow>) -> Result<(), Error> {
        let mut rows = rows;
        if self.has(Fault::MixesTraffic) {
            for row in &mut rows {
                row.owner = Owner(1);
            }
        }
        self.inner.put_traffic(rows).await
    }

    async fn traffic(&self, span: TimeRange) -> Result<Vec<TrafficRow>, Error> {
        self.inner.traffic(span).await
    }

    async fn note_bodies(&self, notes: Vec<BodyNote>) -> Result<(), Error> {
        self.inner.note_bodies(notes).await
    }

    async fn bind(&self, binding: Binding) -> Result<bool, Error> {
        Ok(self.inner.bind(binding).await? || self.has(Fault::BindsToAnything))
    }

    async fn remembered(&self, bodies: Vec<(Scope, BodyHash)>) -> Result<Vec<BodyNote>, Error> {
        self.inner.remembered(bodies).await
    }

    async fn conflict(&self, first: EventId, raw_hash: BodyHash) -> Result<Option<ConflictingBody>, Error> {
        self.inner.conflict(first, raw_hash).await
    }

    async fn mark_released(&self, first: EventId, raw_hash: BodyHash, event: EventId) -> Result<(), Error> {
        self.inner.mark_released(first, raw_hash, event).await
    }

    async fn reseal(&self, rows: Vec<Resealed>) -> Result<(), Error> {
        self.inner.reseal(rows).await
    }
}

#[async_trait]
impl StoreMigration for Broken {
    async fn origin(&self) -> Result<Origin, Error> {
        self.inner.origin().await
    }

    async fn census(&self) -> Result<Census, Error> {
        self.inner.census().await
    }

    async fn export(&self, after: &MigrationCursor, limit: u32) -> Result<MigrationPage, Error> {
        let mut page = self.inner.export(after, limit).await?;
        if self.has(Fault::CopiesWithoutWork) {
            for record in &mut page.records {
                if let Record::Identity(identity) = record {
                    identity.events.iter_mut().for_each(|event| event.work.clear());
                }
            }
        }
        Ok(page)
    }

    async fn begin_import(&self, mark: &ImportMark) -> Result<ImportBegun, Error> {
        let mut mark = mark.clone();
        if self.has(Fault::CopiesWithoutNumbers) {
            mark.census.numbers_below = 0;
        }
        match self.inner.begin_import(&mark).await? {
            ImportBegun::Occupied if self.has(Fault::CopiesIntoAnything) => Ok(ImportBegun::Started),
            begun => Ok(begun),
        }
    }

    async fn import(&self, records: Vec<Record>, reached: &MigrationCursor) -> Result<(), Error> {
        self.inner.import(records, reached).await
    }

    async fn finish_import(&self) -> Result<(), Error> {
        self.inner.finish_import().await
    }
}
