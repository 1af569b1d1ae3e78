//! Reads a store from outside in one statement: the result is a snapshot of one moment.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use hapax_test_postgres::Database;
use hapax_test_redis::Reply;
use rusqlite::{Connection, OpenFlags};

use super::history::{DestinationKind, Seen, State, Stored};

const SQLITE: &str = "
    SELECT e.event_id, n.name, d.generation, d.token, d.state, hex(d.idempotency_key), hex(d.replay)
    FROM (SELECT seq, destination, generation, token, state, idempotency_key, replay FROM work
          UNION ALL
          SELECT seq, destination, generation, token, state, idempotency_key, replay FROM outcomes WHERE current = 1) d
    JOIN events e USING (seq) JOIN names n ON n.no = d.destination";

const POSTGRES: &str = "
    SELECT e.event_id, d.destination, d.generation, d.token, d.state::int8, d.idempotency_key::text, d.replay::text
    FROM (SELECT bucket, id, destination, generation, token, state, idempotency_key, replay FROM hapax.work
          UNION ALL
          SELECT bucket, id, destination, generation, token, state, idempotency_key, replay FROM hapax.outcomes
          WHERE is_current) d
    JOIN hapax.events e USING (bucket, id)";

/// The same for one shard. A script is one moment, too.
const REDIS: &str = include_str!("look.lua");
/// The fields that it returns for each delivery.
const REDIS_FIELDS: usize = 6;

type Row = (String, String, i64, i64, State, String, Option<String>);

/// Everything in a store's file, while its service runs.
pub(super) fn look_at_file(path: &Path) -> Seen {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    connection.busy_timeout(Duration::from_secs(10)).unwrap();
    let mut statement = connection.prepare(SQLITE).unwrap();
    let rows = statement.query_map([], |row| {
        Ok((
            row.get(0)?,
            row.get(1)?,
            row.get(2)?,
            row.get(3)?,
            State::of(row.get(4)?),
            row.get(5)?,
            row.get(6)?,
        ))
    });
    seen(rows.unwrap().map(Result::unwrap))
}

pub(super) async fn look_at_database(database: &Database) -> Seen {
    let client = database.client().await.unwrap();
    let rows = client.query(POSTGRES, &[]).await.unwrap();
    let rows = rows.into_iter().map(|row| {
        (
            row.get(0),
            row.get(1),
            row.get(2),
            row.get(3),
            State::of(row.get(4)),
            row.get(5),
            row.get(6),
        )
    });
    seen(rows)
}

/// Everything under a prefix, on a server of one shard.
pub(super) fn look_at_redis(server: &hapax_test_redis::Server, prefix: &str) -> Seen {
    let tag = format!("{{{prefix}:0.0}}");
    let found = server.call(&["EVAL", REDIS, "1", &tag]).unwrap();
    let rows = found.list().chunks_exact(REDIS_FIELDS).map(|fields| {
        let text = |at: usize| Reply::text(&fields[at]);
        let number = |at: usize| text(at).parse().unwrap();
        // Redis does not store a delivery's key, which is derived; the keys that arrive are compared anyway.
        let key = String::new();
        (
            text(0),
            text(1),
            number(2),
            number(3),
            State::named(&text(4)),
            key,
            Some(text(5)),
        )
    });
    seen(rows)
}

fn seen(rows: impl Iterator<Item = Row>) -> Seen {
    let mut all = BTreeMap::new();
    for (event, destination, generation, token, state, key, replay) in rows {
        let stored = Stored {
            generation,
            token,
            state,
            key,
            replay: replay.filter(|replay| !replay.is_empty()),
        };
        let twice = all.insert((event.clone(), DestinationKind::of(&destination)), stored);
        assert!(
            twice.is_none(),
            "{event} is stored twice for `{destination}`: {twice:?}"
        );
    }
    Seen::Stored(all)
}
