//! Events as lists find them.

use hapax_core::store::{EventQuery, EventSummary, plain_body_bytes};
use hapax_core::{EventId, EventStatus, SourceName, Timestamp};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::failure::Failure;
use crate::rows::time_at;

/// The columns that [`Found::read`] reads; the ninth says whether source and type match.
macro_rules! found_columns {
    () => {
        "e.no, e.bucket, e.id, e.source, e.event_id, e.type, e.received_at, octet_length(e.body)::int8,
         coalesce(($5::text IS NULL OR e.source = $5::text) AND ($6::text IS NULL OR e.type = $6::text)
                  AND ($7::text IS NULL OR starts_with(e.type, $7::text)), false), e.key, substring(e.headers FOR 5)"
    };
}
pub(super) use found_columns;

/// Whether an event was received between two moments.
macro_rules! in_time {
    () => {
        "($3::int8 IS NULL OR e.received_at >= $3::int8) AND ($4::int8 IS NULL OR e.received_at < $4::int8)"
    };
}
pub(super) use in_time;

/// The source, type and type prefix of a query.
pub(super) struct Filter<'q> {
    pub(super) source: Option<&'q str>,
    pub(super) exact: Option<&'q str>,
    pub(super) prefix: Option<&'q str>,
}

impl<'q> Filter<'q> {
    pub(super) fn of(query: &'q EventQuery) -> Self {
        let pattern = query.event_type.as_deref();
        let prefix = pattern.and_then(|pattern| pattern.strip_suffix('*'));
        Self {
            source: query.source.as_ref().map(SourceName::as_str),
            exact: pattern.filter(|_| prefix.is_none()),
            prefix,
        }
    }
}

/// An event without its status.
pub(super) struct Found {
    pub(super) number: i64,
    pub(super) bucket: i16,
    pub(super) id: Uuid,
    pub(super) fits: bool,
    pub(super) key: Uuid,
    source: SourceName,
    pub(super) event_id: String,
    event_type: Option<String>,
    received_at: Timestamp,
    pub(super) body_bytes: u64,
}

impl Found {
    pub(super) fn read(row: &Row) -> Result<Self, Failure> {
        Ok(Self {
            number: row.try_get(0)?,
            bucket: row.try_get(1)?,
            id: row.try_get(2)?,
            source: row.try_get::<_, &str>(3)?.into(),
            event_id: row.try_get(4)?,
            event_type: row.try_get(5)?,
            received_at: time_at(row, 6)?,
            body_bytes: plain_body_bytes(row.try_get(10)?, row.try_get::<_, i64>(7)? as u64),
            fits: row.try_get(8)?,
            key: row.try_get(9)?,
        })
    }

    pub(super) fn summary(self, status: EventStatus, duplicates: u64) -> EventSummary {
        EventSummary {
            id: EventId::from_bytes(self.id.into_bytes()),
            source: self.source,
            event_id: self.event_id,
            event_type: self.event_type,
            received_at: self.received_at,
            status,
            body_bytes: self.body_bytes,
            duplicates,
        }
    }
}
