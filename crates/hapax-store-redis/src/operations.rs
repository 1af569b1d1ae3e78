//! The store's second half.
use crate::RedisStore;
use async_trait::async_trait;
use hapax_core::store::*;
use hapax_core::*;

#[async_trait]
impl Operations for RedisStore {
    async fn probe(&self) -> Result<(), Error> {
        Err(Error::Overloaded)
    }

    async fn pause(&self, _pause: Pause) -> Result<(), Error> {
        Err(Error::Overloaded)
    }

    async fn resume(&self, _destination: &DestinationId) -> Result<bool, Error> {
        Err(Error::Overloaded)
    }

    async fn pauses(&self) -> Result<Vec<Pause>, Error> {
        Err(Error::Overloaded)
    }

    async fn put_source_state(&self, _state: SourceState) -> Result<(), Error> {
        Err(Error::Overloaded)
    }

    async fn take_source_state(
        &self,
        _source: &SourceName,
        _name: &str,
        _put: Option<SourceState>,
    ) -> Result<bool, Error> {
        Err(Error::Overloaded)
    }

    async fn source_states(&self) -> Result<Vec<SourceState>, Error> {
        Err(Error::Overloaded)
    }

    async fn record(&self, _entry: AuditEntry) -> Result<(), Error> {
        Err(Error::Overloaded)
    }

    async fn audit(
        &self,
        _after: Option<Cursor>,
        _limit: u32,
    ) -> Result<(Vec<AuditRecord>, Option<Cursor>), Error> {
        Err(Error::Overloaded)
    }

    async fn deliveries(
        &self,
        _query: &DeadQuery,
        _after: Option<Cursor>,
        _limit: u32,
    ) -> Result<(Vec<DeliveryView>, Option<Cursor>), Error> {
        Err(Error::Overloaded)
    }

    async fn dead_groups(&self, _limit: u32) -> Result<Vec<DeadGroup>, Error> {
        Err(Error::Overloaded)
    }

    async fn dispose(
        &self,
        _deliveries: Vec<(EventId, DestinationId)>,
        _disposal: Disposal,
    ) -> Result<u64, Error> {
        Err(Error::Overloaded)
    }

    async fn create_replay(&self, _job: ReplayJob) -> Result<(), Error> {
        Err(Error::Overloaded)
    }

    async fn replay_job(&self, _id: ReplayJobId) -> Result<Option<ReplayJob>, Error> {
        Err(Error::Overloaded)
    }

    async fn replay_jobs(
        &self,
        _after: Option<Cursor>,
        _limit: u32,
    ) -> Result<(Vec<ReplayJob>, Option<Cursor>), Error> {
        Err(Error::Overloaded)
    }

    async fn unfinished_replays(&self) -> Result<Vec<ReplayJob>, Error> {
        Err(Error::Overloaded)
    }

    async fn claim_replay(&self, _id: ReplayJobId, _driver: Driver) -> Result<Option<ReplayJob>, Error> {
        Err(Error::Overloaded)
    }

    async fn advance_replay(&self, _job: &ReplayJob, _driver: Driver) -> Result<bool, Error> {
        Err(Error::Overloaded)
    }

    async fn cancel_replay(&self, _id: ReplayJobId) -> Result<bool, Error> {
        Err(Error::Overloaded)
    }

    async fn note_duplicates(&self, _notes: Vec<DuplicateNote>) -> Result<(), Error> {
        Err(Error::Overloaded)
    }

    async fn copies(&self, _identity: &Identity) -> Result<Option<DuplicateTally>, Error> {
        Err(Error::Overloaded)
    }

    async fn declare_indexes(
        &self,
        _fields: Vec<IndexedField>,
    ) -> Result<Vec<(IndexedField, Timestamp)>, Error> {
        Err(Error::Overloaded)
    }

    async fn put_traffic(&self, _rows: Vec<TrafficRow>) -> Result<(), Error> {
        Err(Error::Overloaded)
    }

    async fn traffic(&self, _span: Span) -> Result<Vec<TrafficRow>, Error> {
        Err(Error::Overloaded)
    }

    async fn put_view(&self, _view: SavedView) -> Result<bool, Error> {
        Err(Error::Overloaded)
    }

    async fn delete_view(&self, _name: &str) -> Result<bool, Error> {
        Err(Error::Overloaded)
    }

    async fn views(&self) -> Result<Vec<SavedView>, Error> {
        Err(Error::Overloaded)
    }

    async fn note_bodies(&self, _notes: Vec<BodyNote>) -> Result<(), Error> {
        Err(Error::Overloaded)
    }

    async fn conflict(&self, _first: EventId, _raw_hash: BodyHash) -> Result<Option<Variant>, Error> {
        Err(Error::Overloaded)
    }

    async fn mark_released(
        &self,
        _first: EventId,
        _raw_hash: BodyHash,
        _event: EventId,
    ) -> Result<(), Error> {
        Err(Error::Overloaded)
    }
}
