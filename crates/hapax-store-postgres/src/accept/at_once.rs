//! A batch in one statement: the identities and, if all of them are new, the payloads, the deliveries and the sums.
//!
//! Nearly every batch brings new events only; duplicates are mostly answered from memory. If one of them is known, the
//! statement claims the new identities and writes nothing else, and the ordinary steps follow.

use std::collections::{HashMap, HashSet};

use hapax_core::delivery::FirstLease;
use hapax_core::store::Handed;
use hapax_core::{DeliveryState, Generation, Key, NewDelivery, NewEvent, Timestamp, Token};
use uuid::Uuid;

use super::{claim, payload};
use crate::Spread;
use crate::batch::Batch;
use crate::bind::{Param, param};
use crate::failure::Failure;
use crate::rows::{Class, bucket_of, state_code, uuid_of};
use crate::session::{Session, is_begun};
use crate::tallies::Tallies;

/// The statement, with or without deliveries.
///
/// It is sent together with the beginning of its transaction, and writes nothing if that has failed: alone, it would
/// commit identities without their events. Numbers are drawn, and rows written, only if every identity was claimed.
/// Numbers are assigned by place, not by the order in which the server happens to evaluate rows.
macro_rules! at_once {
    ($deliveries:literal) => {
        concat!(
            "WITH clock AS MATERIALIZED (
                 SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::int8 AS now),
             claimed AS (
                 INSERT INTO hapax.ledger
                     (bucket, key, id, generation, first_seen, expires_at, forgotten, stored, scope, raw_hash,
                      content_rule, content_hash)
                 SELECT n.bucket, n.key, n.id, 0, (SELECT now FROM clock), n.expires_at, false, true, n.scope, n.raw_hash,
                        n.content_rule, n.content_hash
                 FROM unnest($3::int2[], $4::uuid[], $5::uuid[], $6::int8[], $7::text[], $8::bytea[], $9::text[],
                             $10::bytea[]) WITH ORDINALITY
                      AS n (bucket, key, id, expires_at, scope, raw_hash, content_rule, content_hash, place)
                 WHERE ",
            is_begun!(),
            "    ORDER BY n.place
                 ON CONFLICT (bucket, key) DO NOTHING
                 RETURNING key),
             drawn AS MATERIALIZED (
                 SELECT ARRAY(SELECT nextval('hapax.tokens') FROM generate_series(1, $2::int8)) AS numbers
                 WHERE (SELECT count(*) FROM claimed) = $1::int8),
             stored AS (
                 INSERT INTO hapax.events
                     (bucket, id, no, key, generation, received_at, accepted_at, signed_at, secret_index, batch_id,
                      batch_index, scope, source, event_id, type, raw_hash, headers, body)
                 SELECT n.bucket, n.id, (SELECT numbers FROM drawn)[n.place::int4], n.key, 0, n.received_at,
                        (SELECT now FROM clock), n.signed_at, n.secret_index, n.batch_id, n.batch_index, n.scope, n.source,
                        n.event_id, n.type, n.raw_hash, n.headers, n.body
                 FROM unnest($11::int2[], $12::uuid[], $13::uuid[], $14::int8[], $15::int8[], $16::int4[], $17::uuid[],
                             $18::int8[], $19::text[], $20::text[], $21::text[], $22::text[], $23::bytea[], $24::bytea[],
                             $25::bytea[]) WITH ORDINALITY
                      AS n (bucket, id, key, received_at, signed_at, secret_index, batch_id, batch_index, scope, source,
                            event_id, type, raw_hash, headers, body, place)
                 WHERE EXISTS (SELECT FROM drawn)),",
            $deliveries,
            "tallied AS (
                 INSERT INTO hapax.tallies AS t (bucket, kind, scope, entries)
                 SELECT n.bucket, n.kind, n.scope, n.entries
                 FROM unnest($26::int2[], $27::int2[], $28::text[], $29::int8[]) WITH ORDINALITY
                      AS n (bucket, kind, scope, entries, place)
                 WHERE EXISTS (SELECT FROM drawn)
                 ORDER BY n.place
                 ON CONFLICT (bucket, kind, scope) DO UPDATE SET entries = t.entries + excluded.entries)
             SELECT (SELECT now FROM clock), (SELECT numbers FROM drawn),
                    CASE WHEN NOT EXISTS (SELECT FROM drawn) THEN ARRAY(SELECT key FROM claimed) END"
        )
    };
}

const WITHOUT_DELIVERIES: &str = at_once!("");

const WITH_DELIVERIES: &str = at_once!(
    "enqueued AS (
         INSERT INTO hapax.work
             (bucket, id, destination, class, state, wake_at, token, attempts, lost, owner, generation, accepted_at,
              idempotency_key)
         SELECT n.bucket, n.id, n.destination, n.class, n.state, (SELECT now FROM clock) + n.lease_for,
                coalesce((SELECT numbers FROM drawn)[n.token_at], 0), n.attempts, 0, n.owner, 0,
                (SELECT now FROM clock), n.idempotency_key
         FROM unnest($30::int2[], $31::uuid[], $32::text[], $33::int2[], $34::int2[], $35::int8[], $36::int4[],
                     $37::int8[], $38::int8[], $39::uuid[])
              AS n (bucket, id, destination, class, state, lease_for, token_at, attempts, owner, idempotency_key)
         WHERE EXISTS (SELECT FROM drawn)),"
);

/// What the statement has written.
pub(super) struct Written {
    pub(super) now: Timestamp,
    /// The identities that are claimed.
    pub(super) won: HashSet<Key>,
    /// The leases returned to the caller for each event with deliveries, if everything is written.
    pub(super) handed: Option<HashMap<Key, Vec<Option<Handed>>>>,
}

/// Whether a batch can be written in one statement. A lane's order is drawn under its lock, and a body decides whether a
/// delivery is held. A distributed database refuses to draw numbers inside a statement.
pub(super) fn suits(session: &Session, events: &[&NewEvent]) -> bool {
    session.spread() == Spread::Whole && events.iter().all(|event| is_plain(event))
}

/// Whether all rows of an event are in its own bucket, and none of them depends on the rows of other events.
pub(super) fn is_plain(event: &NewEvent) -> bool {
    let has_lane = event.deliveries.iter().any(|delivery| delivery.lane.is_some());
    event.claimed_body.is_none() && event.indexed.is_empty() && !has_lane
}

/// Begins the transaction and writes the batch. `candidates` are sorted by key, `arrivals` are the same events in order
/// of arrival.
pub(super) async fn write(
    session: &Session,
    candidates: &[&NewEvent],
    arrivals: &[&NewEvent],
) -> Result<Written, Failure> {
    let work = work(arrivals)?;
    let numbers = arrivals.len() + work.iter().filter(|row| row.token_at.is_some()).count();
    let (identities, numbers) = (arrivals.len() as i64, numbers as i64);
    let mut tallies = Tallies::default();
    tallies.events(identities);
    for event in arrivals {
        tallies.ledger(event.identity.scope.as_str(), 1);
    }
    let (ledger, events) = (claim::rows(candidates), payload::rows(arrivals));
    let (tallies, deliveries) = (tallies.rows(session.slot()), deliveries(&work));
    let mut params: Vec<Param<'_>> = vec![param(&identities), param(&numbers)];
    params.extend(ledger.arrays());
    params.extend(events.arrays());
    params.extend(tallies.arrays());
    let text = if work.is_empty() {
        WITHOUT_DELIVERIES
    } else {
        params.extend(deliveries.arrays());
        WITH_DELIVERIES
    };
    let written = session.begin_with(session.one(text, &params)).await?;
    let now = Timestamp::from_micros(written.try_get(0)?);
    let drawn: Option<Vec<i64>> = written.try_get(1)?;
    let Some(drawn) = drawn else {
        let won: Vec<Uuid> = written.try_get(2)?;
        return Ok(Written {
            now,
            won: won
                .into_iter()
                .map(|key| Key::from_bytes(key.into_bytes()))
                .collect(),
            handed: None,
        });
    };
    Ok(Written {
        now,
        won: arrivals.iter().map(|event| event.key).collect(),
        handed: Some(handed(arrivals, &work, &drawn, now)?),
    })
}

/// The leases that came with the accept, for each event.
pub(super) fn handed(
    arrivals: &[&NewEvent],
    work: &[Work<'_>],
    drawn: &[i64],
    now: Timestamp,
) -> Result<HashMap<Key, Vec<Option<Handed>>>, Failure> {
    let mut rows = work.iter();
    let mut handed = HashMap::with_capacity(arrivals.len());
    for event in arrivals {
        let of_event = rows.by_ref().take(event.deliveries.len());
        let leases = of_event.map(|row| row.handed(drawn, now));
        handed.insert(event.key, leases.collect::<Result<_, _>>()?);
    }
    Ok(handed)
}

/// A delivery to be written.
pub(super) struct Work<'e> {
    event: &'e NewEvent,
    delivery: &'e NewDelivery,
    /// The place of its token among the numbers drawn, counted from one, if it is leased to the caller.
    pub(super) token_at: Option<i32>,
}

/// The deliveries of events, in order.
pub(super) fn work<'e>(arrivals: &[&'e NewEvent]) -> Result<Vec<Work<'e>>, Failure> {
    let too_many = |_| Failure::Rejected("a batch has too many deliveries".to_owned());
    // The events' own numbers come first.
    let mut drawn = i32::try_from(arrivals.len()).map_err(too_many)?;
    let mut rows = Vec::new();
    for event in arrivals {
        for delivery in &event.deliveries {
            let token_at = delivery.first_lease.map(|_| {
                drawn += 1;
                drawn
            });
            rows.push(Work {
                event,
                delivery,
                token_at,
            });
        }
    }
    Ok(rows)
}

impl Work<'_> {
    fn idempotency_key(&self) -> Uuid {
        let identity = &self.event.identity;
        let key = identity.idempotency_key(Generation(0), &self.delivery.destination);
        Uuid::from_bytes(*key.as_bytes())
    }

    fn handed(&self, drawn: &[i64], now: Timestamp) -> Result<Option<Handed>, Failure> {
        let (Some(at), Some(terms)) = (self.token_at, &self.delivery.first_lease) else {
            return Ok(None);
        };
        let token = drawn
            .get(at as usize - 1)
            .ok_or_else(|| Failure::Unreadable("the database returned too few numbers".to_owned()))?;
        Ok(Some(Handed {
            token: Token(*token as u64),
            lease_until: now.plus(terms.lease_for),
        }))
    }
}

/// Rows of `hapax.work`.
pub(super) fn deliveries<'e>(work: &[Work<'e>]) -> Batch<'e> {
    let leases = || work.iter().map(|row| row.delivery.first_lease.as_ref());
    let standing = |lease: Option<&FirstLease>| match lease {
        Some(_) => (Class::Running, DeliveryState::Running),
        None => (Class::Fresh, DeliveryState::Pending),
    };
    let micros = |terms: &FirstLease| i64::try_from(terms.lease_for.as_micros()).unwrap_or(i64::MAX);
    Batch::in_buckets(work.iter().map(|row| bucket_of(row.event.id)))
        .column("id", work.iter().map(|row| uuid_of(row.event.id)))
        .column(
            "destination",
            work.iter().map(|row| row.delivery.destination.as_str()),
        )
        .column("class", leases().map(|lease| standing(lease).0.code()))
        .column("state", leases().map(|lease| state_code(standing(lease).1)))
        .column("lease_for", leases().map(|lease| lease.map_or(0, micros)))
        .column("token_at", work.iter().map(|row| row.token_at))
        .column("attempts", leases().map(|lease| i64::from(lease.is_some())))
        .column(
            "owner",
            leases().map(|lease| lease.map(|terms| terms.owner.0 as i64)),
        )
        .column("idempotency_key", work.iter().map(Work::idempotency_key))
}
