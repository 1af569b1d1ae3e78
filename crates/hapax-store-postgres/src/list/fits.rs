//! Which events match a query, leaving aside their bodies.

use std::collections::HashSet;

use futures_util::future::join;
use hapax_core::store::{EventQuery, Has};
use hapax_core::{DestinationId, EventStatus};
use uuid::Uuid;

use super::found::Found;
use super::{duplicates, status};
use crate::batch::Batch;
use crate::failure::Failure;
use crate::session::Session;

const TO: &str = "
    SELECT w.id FROM {n} JOIN hapax.work w ON w.bucket = {bucket} AND w.id = n.id WHERE w.destination = $3::text
    UNION
    SELECT o.id FROM {n} JOIN hapax.outcomes o ON o.bucket = {bucket} AND o.id = n.id
    WHERE o.destination = $3::text AND o.is_current";

const GIVEN_UP: &str = "
    SELECT o.id FROM {n} JOIN hapax.outcomes o ON o.bucket = {bucket} AND o.id = n.id
    WHERE o.is_current AND o.state = 4 AND o.error = $3::text
      AND ($4::text IS NULL OR o.destination = $4::text)";

const CONFLICTS: &str = "
    SELECT c.first FROM {n} JOIN hapax.conflicts c ON c.bucket = {bucket} AND c.first = n.id";

/// An event with the properties found so far.
pub(super) struct Fitting {
    pub(super) row: Found,
    pub(super) status: EventStatus,
    pub(super) duplicates: u64,
}

/// The rows that match, in their order.
pub(super) async fn fitting(
    session: &Session,
    query: &EventQuery,
    rows: Vec<Found>,
) -> Result<Vec<Fitting>, Failure> {
    let mut rows: Vec<Found> = rows.into_iter().filter(|row| row.fits).collect();
    if let Some(found) = with_delivery(session, query, &rows).await? {
        rows.retain(|row| found.contains(&row.id));
    }
    if let Some(Has::Conflict) = query.has {
        let found = ids(&session.over(CONFLICTS, &names(&rows)).await?)?;
        rows.retain(|row| found.contains(&row.id));
    }
    let (statuses, duplicates) = join(status::of(session, &rows), duplicates::of(session, &rows)).await;
    let (statuses, duplicates) = (statuses?, duplicates?);
    let fitting = rows.into_iter().map(|row| {
        let status = statuses.get(&row.id).copied();
        Fitting {
            status: status.unwrap_or_else(|| EventStatus::without_deliveries(&row.event_id)),
            duplicates: duplicates.get(&row.key).copied().unwrap_or(0),
            row,
        }
    });
    let fits = |one: &Fitting| {
        query.status.is_none_or(|wanted| wanted == one.status)
            && query.duplicates.is_none_or(|wanted| wanted.fits(one.duplicates))
    };
    Ok(fitting.filter(fits).collect())
}

/// The events with a matching delivery; `None` if the query does not ask for one.
async fn with_delivery(
    session: &Session,
    query: &EventQuery,
    rows: &[Found],
) -> Result<Option<HashSet<Uuid>>, Failure> {
    let to = query.to.as_ref().map(DestinationId::as_str);
    let found = match (query.error, to) {
        (Some(error), to) => {
            let batch = names(rows).value(error.as_str()).value(to);
            session.over(GIVEN_UP, &batch).await?
        }
        (None, Some(to)) => session.over(TO, &names(rows).value(to)).await?,
        (None, None) => return Ok(None),
    };
    ids(&found).map(Some)
}

fn names<'n>(rows: &[Found]) -> Batch<'n> {
    Batch::in_buckets(rows.iter().map(|row| row.bucket)).column("id", rows.iter().map(|row| row.id))
}

fn ids(rows: &[tokio_postgres::Row]) -> Result<HashSet<Uuid>, Failure> {
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}
