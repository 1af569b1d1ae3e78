//! What the relay relies on, for every database: claims are exclusive, expire, and fence later writes.

use std::sync::Arc;
use std::time::Duration;

use hapax_core::{EventId, EventIds, Identity, Secret, SystemRandom, Timestamp};
use hapax_test_postgres::{Database, Server};
use tempfile::TempDir;

use super::postgres::PostgresTable;
use super::sqlite::SqliteTable;
use super::table::{ClaimOrder, End, Examined, LOOK_MAX, Table};

const LONG: Duration = Duration::from_secs(3600);

/// A table, and its database to write rows into.
struct Subject {
    table: Arc<dyn Table>,
    place: OutboxDatabase,
}

enum OutboxDatabase {
    Postgres { database: Database, _server: Server },
    Sqlite(TempDir),
}

impl Subject {
    /// One of every kind, each with a table that the relay created.
    async fn all() -> Vec<Self> {
        let server = Server::shared().unwrap();
        let database = server.database().await.unwrap();
        let postgres = Self {
            table: Arc::new(PostgresTable::new(Secret::new(database.url()))),
            place: OutboxDatabase::Postgres {
                database,
                _server: server,
            },
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.db");
        rusqlite::Connection::open(&path).unwrap();
        let sqlite = Self {
            table: Arc::new(SqliteTable::new(path)),
            place: OutboxDatabase::Sqlite(folder),
        };
        let subjects = vec![postgres, sqlite];
        for subject in &subjects {
            assert!(subject.claim(1, 1, LONG).await.is_empty(), "the table was made");
        }
        subjects
    }

    async fn run(&self, sql: &str) {
        match &self.place {
            OutboxDatabase::Postgres { database, .. } => {
                let client = database.client().await.unwrap();
                client.batch_execute(sql).await.unwrap();
            }
            OutboxDatabase::Sqlite(folder) => {
                let connection = rusqlite::Connection::open(folder.path().join("app.db")).unwrap();
                connection.execute_batch(sql).unwrap();
            }
        }
    }

    async fn write(&self, key: &str, order_key: Option<&str>) {
        let order_key = order_key.map_or("NULL".to_owned(), |key| format!("'{key}'"));
        let sql =
            "INSERT INTO hapax_outbox (target, idempotency_key, order_key) VALUES ('http://example.com/'";
        self.run(&format!("{sql}, '{key}', {order_key})")).await;
    }

    /// Writes a row; returns its id.
    async fn write_one(&self, key: &str, order_key: Option<&str>) -> i64 {
        self.write(key, order_key).await;
        self.number("SELECT max(id) FROM hapax_outbox").await
    }

    async fn number(&self, sql: &str) -> i64 {
        match &self.place {
            OutboxDatabase::Postgres { database, .. } => {
                let client = database.client().await.unwrap();
                client.query_one(sql, &[]).await.unwrap().get(0)
            }
            OutboxDatabase::Sqlite(folder) => {
                let connection = rusqlite::Connection::open(folder.path().join("app.db")).unwrap();
                connection.query_row(sql, [], |row| row.get(0)).unwrap()
            }
        }
    }

    /// Writes many rows at once; `order_key` is SQL in terms of their number `n`.
    async fn write_many(&self, count: usize, order_key: &str) {
        self.run(&format!(
            "WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < {count})
             INSERT INTO hapax_outbox (target, idempotency_key, order_key)
             SELECT 'http://example.com/', 'many ' || n, {order_key} FROM number"
        ))
        .await;
    }

    /// The ids of the claimed rows.
    async fn claim(&self, limit: i64, token: i64, lease_for: Duration) -> Vec<i64> {
        let order = ClaimOrder {
            limit,
            token,
            lease_for,
        };
        let mut ids: Vec<i64> = self
            .table
            .claim(order)
            .await
            .unwrap()
            .iter()
            .map(|row| row.id)
            .collect();
        ids.sort_unstable();
        ids
    }

    async fn settle(&self, token: i64, id: i64, end: End) {
        self.table.settle(token, vec![(id, end)]).await.unwrap();
    }

    /// Pending, leased, relayed, refused.
    async fn counts(&self) -> [u64; 4] {
        let counts = self.table.counts().await.unwrap();
        [counts.pending, counts.leased, counts.relayed, counts.refused]
    }
}

fn event() -> EventId {
    let key = Identity::new("a", "b").key();
    EventIds::default().next(Timestamp::from_seconds(1_800_000_000), key, &SystemRandom::new())
}

#[tokio::test]
async fn a_claim_that_ended_can_be_taken_by_another_and_a_late_mark_changes_nothing() {
    for subject in Subject::all().await {
        subject.write("a", None).await;
        assert_eq!(subject.claim(10, 1, LONG).await, [1]);
        assert!(subject.claim(10, 2, LONG).await.is_empty(), "it is held");
        subject.settle(1, 1, End::Again(Duration::ZERO)).await;
        // A claim of zero length expires at once.
        assert_eq!(subject.claim(10, 3, Duration::ZERO).await, [1]);
        while subject.claim(10, 4, LONG).await.is_empty() {
            tokio::task::yield_now().await;
        }
        subject.settle(3, 1, End::Relayed(event())).await;
        assert_eq!(
            subject.counts().await,
            [0, 1, 0, 0],
            "the late mark of 3 is refused"
        );
        subject.settle(4, 1, End::Relayed(event())).await;
        assert_eq!(subject.counts().await, [0, 0, 1, 0]);
        assert!(subject.claim(10, 5, LONG).await.is_empty());
    }
}

#[tokio::test]
async fn of_an_order_key_only_the_first_that_is_not_relayed_is_claimed() {
    for subject in Subject::all().await {
        for (key, order_key) in [("1", "a"), ("2", "a"), ("3", "b"), ("4", "a")] {
            subject.write(key, Some(order_key)).await;
        }
        subject.write("5", None).await;
        assert_eq!(subject.claim(10, 1, LONG).await, [1, 3, 5]);
        assert!(subject.claim(10, 2, LONG).await.is_empty(), "2 and 4 wait for 1");
        subject.settle(1, 1, End::Refused("no".to_owned())).await;
        assert!(
            subject.claim(10, 3, LONG).await.is_empty(),
            "a refused row holds its key"
        );
        assert!(subject.table.retry(1).await.unwrap());
        assert!(
            !subject.table.retry(1).await.unwrap(),
            "it is not refused any more"
        );
        assert_eq!(subject.claim(10, 4, LONG).await, [1]);
        subject.settle(4, 1, End::Relayed(event())).await;
        assert_eq!(subject.claim(10, 5, LONG).await, [2]);
    }
}

/// Rows of one key behind a refused one, which must not slow down the claims of other keys.
const BEHIND: usize = 200_000;
/// How long a claim may take with all of them behind: far less than scanning each of them takes.
const CLAIM_MAX: Duration = Duration::from_millis(100);

#[tokio::test]
async fn rows_behind_a_refused_one_do_not_slow_the_claims_of_others() {
    for subject in Subject::all().await {
        subject.write("bad", Some("a")).await;
        assert_eq!(subject.claim(10, 1, LONG).await, [1]);
        subject.settle(1, 1, End::Refused("no".to_owned())).await;
        subject.write_many(BEHIND, "'a'").await;
        let mut took = Vec::new();
        for n in 2..11 {
            let id = subject
                .write_one(&format!("beside {n}"), (n % 2 == 0).then_some("b"))
                .await;
            let started = std::time::Instant::now();
            let claimed = subject.claim(10, n, LONG).await;
            took.push(started.elapsed());
            assert_eq!(claimed, [id]);
            subject.settle(n, id, End::Relayed(event())).await;
        }
        took.sort_unstable();
        assert!(took[took.len() / 2] < CLAIM_MAX, "{took:?}");
    }
}

/// More rows of one key than a claim scans, behind the first one; and one row of another key behind them all.
async fn crowd(subject: &Subject) -> i64 {
    subject.write("first", Some("a")).await;
    subject.write_many(LOOK_MAX as usize * 3, "'a'").await;
    subject.write_one("other", Some("b")).await
}

/// The id of the only row that can be claimed.
async fn only(subject: &Subject, token: i64) -> i64 {
    let claimed = subject.claim(10, token, LONG).await;
    assert_eq!(claimed.len(), 1, "{claimed:?}");
    claimed[0]
}

#[tokio::test]
async fn rows_that_were_set_back_come_forward_one_after_the_other() {
    for subject in Subject::all().await {
        let other = crowd(&subject).await;
        assert_eq!(subject.claim(10, 1, LONG).await, [1, other]);
        let mut set_back = 0;
        while let more @ 1.. = subject.table.make_way().await.unwrap() {
            set_back += more;
        }
        assert!(set_back >= LOOK_MAX as u64 * 2, "{set_back}");
        let waiting = LOOK_MAX as u64 * 3;
        assert_eq!(subject.counts().await, [waiting, 2, 0, 0], "they wait, as before");
        subject.settle(1, 1, End::Relayed(event())).await;
        for next in 2..10 {
            assert_eq!(only(&subject, next).await, next, "in the order of their ids");
            subject.settle(next, next, End::Relayed(event())).await;
        }
    }
}

#[tokio::test]
async fn a_key_goes_on_whose_first_row_was_deleted_or_relayed_by_an_earlier_version() {
    for subject in Subject::all().await {
        crowd(&subject).await;
        subject.claim(10, 1, LONG).await;
        subject.settle(1, 1, End::Refused("no".to_owned())).await;
        while subject.table.make_way().await.unwrap() > 0 {}
        subject.run("DELETE FROM hapax_outbox WHERE id = 1").await;
        assert!(
            subject.claim(10, 2, LONG).await.is_empty(),
            "nobody has looked yet"
        );
        assert_eq!(
            subject.table.tend(None).await.unwrap(),
            None,
            "there are few keys"
        );
        assert_eq!(only(&subject, 3).await, 2);
        // An earlier version marks the row without knowing of those behind it.
        subject
            .run("UPDATE hapax_outbox SET state = 'relayed' WHERE id = 2")
            .await;
        subject.table.tend(None).await.unwrap();
        assert_eq!(only(&subject, 4).await, 3);
    }
}

#[tokio::test]
async fn every_key_is_tended_however_many_there_are() {
    for subject in Subject::all().await {
        let keys = LOOK_MAX * 2 + 10;
        subject.write_many(keys as usize, "'key ' || n").await;
        subject.run("UPDATE hapax_outbox SET token = 0").await;
        let (mut from, mut steps) = (None, 0);
        loop {
            from = subject.table.tend(from).await.unwrap();
            steps += 1;
            if from.is_none() {
                break;
            }
        }
        assert_eq!(steps, 3);
        let forward = "SELECT count(*) FROM hapax_outbox WHERE token IS NULL";
        assert_eq!(subject.number(forward).await, keys);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_is_set_back_while_the_one_before_it_is_relayed_is_not_forgotten() {
    for subject in Subject::all().await {
        subject
            .write_many(LOOK_MAX as usize * 2, "'key ' || n % 700")
            .await;
        let mut relayed = 0;
        let mut token = 1;
        while relayed < LOOK_MAX * 2 {
            token += 2;
            let relay = async {
                let claimed = subject.claim(100, token, LONG).await;
                let ends = claimed.iter().map(|id| (*id, End::Relayed(event()))).collect();
                subject.table.settle(token, ends).await.unwrap();
                claimed.len() as i64
            };
            let (count, set_back) = tokio::join!(relay, subject.table.make_way());
            relayed += count;
            assert!(
                count > 0 || set_back.unwrap() > 0,
                "{relayed} were relayed, and no other can be"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_shared_by_relays_that_claim_at_once() {
    for subject in Subject::all().await {
        for n in 0..40 {
            subject.write(&n.to_string(), None).await;
        }
        let (one, other) = tokio::join!(subject.claim(25, 1, LONG), subject.claim(25, 2, LONG));
        let mut all = [one, other].concat();
        all.sort_unstable();
        let before = all.len();
        all.dedup();
        assert_eq!(all.len(), before, "no row was claimed twice");
        let rest = subject.claim(40, 3, LONG).await;
        assert_eq!(before + rest.len(), 40);
    }
}

#[tokio::test]
async fn a_row_that_has_to_wait_is_claimed_when_it_is_due() {
    for subject in Subject::all().await {
        subject.write("a", None).await;
        assert_eq!(subject.claim(10, 1, LONG).await, [1]);
        subject.settle(1, 1, End::Again(LONG)).await;
        assert!(subject.claim(10, 2, LONG).await.is_empty());
        assert_eq!(subject.counts().await, [1, 0, 0, 0]);
        assert!(subject.table.counts().await.unwrap().oldest_at.is_some());
    }
}

#[tokio::test]
async fn a_body_that_is_too_large_is_measured_and_not_read() {
    for subject in Subject::all().await {
        subject.write("a", None).await;
        let large = match subject.place {
            OutboxDatabase::Postgres { .. } => "decode(repeat('00', 6000000), 'hex')",
            OutboxDatabase::Sqlite(_) => "zeroblob(6000000)",
        };
        subject
            .run(&format!("UPDATE hapax_outbox SET body = {large}"))
            .await;
        let order = ClaimOrder {
            limit: 1,
            token: 1,
            lease_for: LONG,
        };
        let rows = subject.table.claim(order).await.unwrap();
        assert_eq!((rows[0].body.len(), rows[0].body_bytes), (0, 6_000_000));
    }
}

#[tokio::test]
async fn only_relayed_rows_are_deleted_and_only_when_they_are_old() {
    for subject in Subject::all().await {
        for key in ["a", "b", "c"] {
            subject.write(key, None).await;
        }
        subject.claim(2, 1, LONG).await;
        subject.settle(1, 1, End::Relayed(event())).await;
        subject.settle(1, 2, End::Refused("no".to_owned())).await;
        assert_eq!(subject.table.purge(LONG, 10).await.unwrap(), 0);
        while subject.table.purge(Duration::ZERO, 10).await.unwrap() == 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(subject.counts().await, [1, 0, 0, 1]);
        let shown = subject.table.counts().await.unwrap().refused_rows;
        assert_eq!((shown[0].id, shown[0].error.as_str()), (2, "no"));
    }
}

#[tokio::test]
async fn a_table_is_examined_without_making_it() {
    let server = Server::shared().unwrap();
    let database = server.database().await.unwrap();
    let table = PostgresTable::new(Secret::new(database.url()));
    for _ in 0..2 {
        assert_eq!(table.examine().await.unwrap(), Examined::Missing);
    }
    for subject in Subject::all().await {
        assert_eq!(subject.table.examine().await.unwrap(), Examined::Whole);
        subject.run("DROP INDEX hapax_outbox_refused").await;
        let without = Examined::WithoutIndex("hapax_outbox_refused");
        assert_eq!(subject.table.examine().await.unwrap(), without);
    }
}

#[tokio::test]
async fn a_right_that_is_missing_is_named() {
    let server = Server::shared().unwrap();
    let database = server.database().await.unwrap();
    let role = format!("poor_{}", database.name());
    let admin = database.client().await.unwrap();
    let sql = format!("CREATE ROLE {role} LOGIN; REVOKE CREATE ON SCHEMA public FROM PUBLIC");
    admin.batch_execute(&sql).await.unwrap();
    let url = database.url().replace("postgres@", &format!("{role}@"));
    let table = PostgresTable::new(Secret::new(url));
    let order = ClaimOrder {
        limit: 1,
        token: 1,
        lease_for: LONG,
    };
    let refused = table.claim(order).await.unwrap_err().to_string();
    assert!(refused.contains("GRANT CREATE ON SCHEMA public"), "{refused}");
    admin.batch_execute(hapax::tables::POSTGRES_OUTBOX).await.unwrap();
    let refused = table.claim(order).await.unwrap_err().to_string();
    assert!(
        refused.contains("SELECT, UPDATE and DELETE on hapax_outbox"),
        "{refused}"
    );
    let grant = format!("GRANT SELECT, UPDATE, DELETE ON hapax_outbox TO {role}");
    admin.batch_execute(&grant).await.unwrap();
    assert!(table.claim(order).await.unwrap().is_empty());
}

#[test]
fn the_guide_quotes_the_tables_as_they_are() {
    let guide = include_str!("../../../../docs/guides/outbox.md");
    for table in [hapax::tables::POSTGRES_OUTBOX, hapax::tables::SQLITE_OUTBOX] {
        assert!(guide.contains(table.trim_end()), "{table}");
    }
}
