//! `hapax_inbox` in a PostgreSQL target: the claims of one transaction, and what expires.

use std::collections::{HashMap, HashSet};

use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::super::failure::Failure;
use super::super::outcome::Outcome;
use super::super::{Job, Plan};

// Rows come sorted, so that two transactions take them in the same order. Whoever waits for another's claim here sees
// afterwards whether that one was committed.
const CLAIM: &str = "
    INSERT INTO hapax_inbox (scope, event_id, consumer, generation, body_hash, expires_at)
    SELECT n.scope, n.event_id, $1::text, n.generation, n.body_hash, now() + make_interval(secs => $2::float8)
    FROM unnest($3::text[], $4::text[], $5::int4[], $6::bytea[]) AS n (scope, event_id, generation, body_hash)
    ON CONFLICT DO NOTHING
    RETURNING scope, event_id, generation";

// A statement of its own: the first one's snapshot may not see the winner. What comes again is remembered anew.
const LOOK: &str = "
    UPDATE hapax_inbox AS i
    SET expires_at = greatest(i.expires_at, now() + make_interval(secs => $2::float8))
    FROM unnest($3::text[], $4::text[], $5::int4[]) AS n (scope, event_id, generation)
    WHERE i.scope = n.scope AND i.event_id = n.event_id AND i.consumer = $1::text AND i.generation = n.generation
    RETURNING i.scope, i.event_id, i.generation, i.body_hash";

/// Rows removed in one statement.
const PURGE_ROWS: i64 = 1_000;

// Two that remove at once do not wait for each other.
const PURGE: &str = "
    DELETE FROM hapax_inbox WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM hapax_inbox WHERE expires_at < now() LIMIT $1::int8 FOR UPDATE SKIP LOCKED))";

/// The part of the primary key that differs between events.
pub(super) type Name = (String, String, i32);

impl Job {
    pub(super) fn name(&self) -> Name {
        let generation = i32::try_from(self.generation.0).unwrap_or(i32::MAX);
        (
            self.identity.scope.as_str().to_owned(),
            self.identity.event_id.clone(),
            generation,
        )
    }
}

/// Claims events: for each either nothing (it is claimed: apply it), or what the inbox says already.
pub(super) async fn claim(
    client: &Client,
    plan: &Plan,
    jobs: &[&Job],
) -> Result<Vec<Option<Outcome>>, Failure> {
    let names: Vec<Name> = jobs.iter().map(|job| job.name()).collect();
    let keep_seconds = plan.retention.as_secs_f64();
    let consumer = plan.consumer.as_str();
    let columns = Columns::of(&names);
    let hashes: Vec<&[u8]> = jobs.iter().map(|job| &job.body_hash.as_bytes()[..]).collect();
    let rows = client
        .query_typed(
            CLAIM,
            &[
                (&consumer, Type::TEXT),
                (&keep_seconds, Type::FLOAT8),
                (&columns.scopes, Type::TEXT_ARRAY),
                (&columns.ids, Type::TEXT_ARRAY),
                (&columns.generations, Type::INT4_ARRAY),
                (&hashes, Type::BYTEA_ARRAY),
            ],
        )
        .await?;
    let mut won: HashSet<Name> = HashSet::with_capacity(rows.len());
    for row in &rows {
        won.insert((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?));
    }
    if won.len() == names.len() {
        return Ok(names.iter().map(|_| None).collect());
    }
    // Of two attempts at one event the first takes the claim; the other finds it like anybody else.
    let claimed: Vec<bool> = names.iter().map(|name| won.remove(name)).collect();
    let lost: Vec<Name> = names
        .iter()
        .zip(&claimed)
        .filter(|(_, claimed)| !**claimed)
        .map(|(name, _)| name.clone())
        .collect();
    let columns = Columns::of(&lost);
    let rows = client
        .query_typed(
            LOOK,
            &[
                (&consumer, Type::TEXT),
                (&keep_seconds, Type::FLOAT8),
                (&columns.scopes, Type::TEXT_ARRAY),
                (&columns.ids, Type::TEXT_ARRAY),
                (&columns.generations, Type::INT4_ARRAY),
            ],
        )
        .await?;
    let mut found: HashMap<Name, Option<Vec<u8>>> = HashMap::with_capacity(rows.len());
    for row in &rows {
        found.insert(
            (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?),
            row.try_get(3)?,
        );
    }
    jobs.iter()
        .zip(&names)
        .zip(claimed)
        .map(|((job, name), claimed)| {
            if claimed {
                return Ok(None);
            }
            let hash = found.get(name).ok_or_else(|| {
                // It expired between the two statements.
                Failure::connection("the row of hapax_inbox was removed at this very moment")
            })?;
            Ok(Some(Outcome::of_row(hash.as_deref(), job.body_hash)))
        })
        .collect()
}

/// Removes what has expired, a little at a time.
pub(super) async fn purge(client: &Client) -> Result<(), Failure> {
    while client.execute_typed(PURGE, &[(&PURGE_ROWS, Type::INT8)]).await? >= PURGE_ROWS as u64 {}
    Ok(())
}

struct Columns<'n> {
    scopes: Vec<&'n str>,
    ids: Vec<&'n str>,
    generations: Vec<i32>,
}

impl<'n> Columns<'n> {
    fn of(names: &'n [Name]) -> Self {
        Self {
            scopes: names.iter().map(|(scope, _, _)| scope.as_str()).collect(),
            ids: names.iter().map(|(_, id, _)| id.as_str()).collect(),
            generations: names.iter().map(|(_, _, generation)| *generation).collect(),
        }
    }
}
