//! Events by the provider's id, looked up in the ledger in every scope, or by the Hapax id.

use hapax_core::store::{EventPage, ListOrder};
use hapax_core::{EventId, Identity, Timestamp};
use uuid::Uuid;

use super::Page;
use super::filling::Filling;
use super::found::{Filter, Found, found_columns, in_time};
use crate::batch::Batch;
use crate::bind::bind;
use crate::failure::Failure;
use crate::rows::{bucket_of, key_bucket, key_uuid, uuid_of};
use crate::session::Session;
use crate::tallies::LEDGER;

/// Scopes tried for a provider's event id.
const SCOPES_MAX: i64 = 10_000;

const SCOPES: &str = "
    SELECT DISTINCT scope FROM hapax.tallies /* every bucket */ WHERE kind = $1::int2 LIMIT $2::int8";

const IDS: &str = "
    SELECT l.bucket, l.id FROM {n} JOIN hapax.ledger l ON l.bucket = {bucket} AND l.key = n.key
    UNION
    SELECT r.bucket, r.id FROM {n} JOIN hapax.earlier r ON r.bucket = {bucket} AND r.key = n.key";

const EVENTS: &str = concat!(
    "SELECT ",
    found_columns!(),
    " FROM {n} JOIN hapax.events e ON e.bucket = {bucket} AND e.id = n.id
      WHERE e.no < $8::int8 AND e.no >= $9::int8 AND ",
    in_time!()
);

/// One page of the few events with this id.
pub(super) async fn list(session: &Session, page: &Page, event_id: &str) -> Result<EventPage, Failure> {
    let ids = ids(session, event_id).await?;
    let filter = Filter::of(&page.query);
    let batch = Batch::in_buckets(ids.iter().map(|(bucket, _)| *bucket))
        .column("id", ids.iter().map(|(_, id)| *id))
        .value(page.query.since.map(Timestamp::as_micros))
        .value(page.query.until.map(Timestamp::as_micros))
        .value(filter.source)
        .value(filter.exact)
        .value(filter.prefix)
        .value(page.rest().before)
        .value(page.rest().from);
    let rows = session.over(EVENTS, &batch).await?;
    let mut found: Vec<Found> = rows.iter().map(Found::read).collect::<Result<_, Failure>>()?;
    found.sort_unstable_by_key(|event| event.number);
    if page.query.order == ListOrder::NewestFirst {
        found.reverse();
    }
    let mut filling = Filling::of(page);
    if !filling.add(session, found).await? {
        filling.result.next = None;
    }
    Ok(filling.result)
}

/// Buckets and ids of all events that have or had the provider's id, or whose Hapax id it is.
async fn ids(session: &Session, event_id: &str) -> Result<Vec<(i16, Uuid)>, Failure> {
    let mut keys: Vec<(i16, Uuid)> = Vec::new();
    for row in &session.rows(SCOPES, bind![LEDGER, SCOPES_MAX]).await? {
        let key = Identity::new(row.try_get::<_, &str>(0)?, event_id).key();
        keys.push((key_bucket(key), key_uuid(key)));
    }
    let batch = Batch::in_buckets(keys.iter().map(|(bucket, _)| *bucket))
        .column("key", keys.iter().map(|(_, key)| *key));
    let rows = session.over(IDS, &batch).await?;
    let mut found: Vec<(i16, Uuid)> = rows
        .iter()
        .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
        .collect::<Result<_, Failure>>()?;
    let ours: Option<EventId> = event_id.parse().ok();
    found.extend(ours.map(|id| (bucket_of(id), uuid_of(id))));
    found.sort_unstable();
    found.dedup();
    Ok(found)
}
