//! Someone with write access to the database changes the audit trail by hand: `hapax audit verify` detects it.

use std::path::Path;

use rusqlite::Connection;

use super::report;
use hapax_testkit::{Outcome, Setup, Sink};

const ENTRIES: u64 = 6;

/// A change to the database, and how `verify` reports it.
struct Tampering {
    what: &'static str,
    sql: &'static str,
    /// The entry at which the trail is broken; `None` if only a saved head reveals it.
    broken_at: Option<u64>,
}

const TAMPERINGS: [Tampering; 9] = [
    Tampering {
        what: "changed",
        sql: "UPDATE audit SET who = 'somebody else' WHERE no = 3",
        broken_at: Some(3),
    },
    Tampering {
        what: "moved in time",
        sql: "UPDATE audit SET at = at - 1 WHERE no = 2",
        broken_at: Some(2),
    },
    Tampering {
        what: "deleted",
        sql: "DELETE FROM audit WHERE no = 4",
        broken_at: Some(4),
    },
    Tampering {
        what: "first deleted",
        sql: "DELETE FROM audit WHERE no = 1",
        broken_at: Some(1),
    },
    Tampering {
        what: "beginning cut off",
        sql: "DELETE FROM audit WHERE no <= 3",
        broken_at: Some(3),
    },
    Tampering {
        what: "inserted",
        sql: "INSERT INTO audit (at, who, action, subject, detail, link)
              SELECT at, 'mallory', action, subject, detail, link FROM audit WHERE no = 6",
        broken_at: Some(6),
    },
    Tampering {
        what: "taken out of the chain",
        sql: "UPDATE audit SET link = NULL WHERE no = 5",
        broken_at: Some(5),
    },
    Tampering {
        what: "end cut off",
        sql: "DELETE FROM audit WHERE no > 4",
        broken_at: Some(5),
    },
    Tampering {
        what: "end cut off, with the head",
        sql: "DELETE FROM audit WHERE no > 4;
              UPDATE audit_head SET place = (SELECT substr(link, 1, 40) FROM audit WHERE no = 4)",
        broken_at: None,
    },
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_audit_trail_that_was_changed_by_hand_is_found() {
    let sink = Sink::start().await;
    let mut service = Setup::new().http("app", &sink.url(), "").start().await;
    for _ in 0..ENTRIES / 2 {
        service.hapax(&["pause", "app"]).await.assert_code(0);
        service.hapax(&["resume", "app"]).await.assert_code(0);
    }
    let intact = service.hapax(&["audit", "verify"]).await;
    intact.assert_code(0);
    assert!(intact.stdout.starts_with("intact: 6 entries"), "{intact:?}");
    let head = intact.stdout.rsplit("head ").next().unwrap().trim().to_owned();
    service
        .hapax(&["audit", "verify", "--head", &head])
        .await
        .assert_code(0);

    let mut found = 0;
    for tampering in &TAMPERINGS {
        service.stop().await;
        let database = service.setup.store_path();
        let copy = tampered(&database, tampering.sql);
        service.start_again().await;
        let plain = service.hapax(&["audit", "verify"]).await;
        assert_eq!(
            broken_at(&plain),
            tampering.broken_at,
            "{}: {plain:?}",
            tampering.what
        );
        let against = service.hapax(&["audit", "verify", "--head", &head]).await;
        assert!(broken_at(&against).is_some(), "{}: {against:?}", tampering.what);
        found += 1;
        service.stop().await;
        std::fs::copy(&copy, &database).unwrap();
        service.start_again().await;
    }
    report::write(
        "audit-trail",
        &format!(
            "{} changes of the audit trail in the database, by hand",
            TAMPERINGS.len()
        ),
        &format!("{found} found, each at its entry"),
    );
    assert_eq!(found, TAMPERINGS.len());
}

/// Repeated the database, and changes the copy.
fn tampered(database: &Path, sql: &str) -> std::path::PathBuf {
    let connection = Connection::open(database).unwrap();
    connection
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .unwrap();
    let copy = database.with_extension("before");
    std::fs::copy(database, &copy).unwrap();
    connection.execute_batch(sql).unwrap();
    connection
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .unwrap();
    copy
}

fn broken_at(outcome: &Outcome) -> Option<u64> {
    let rest = outcome.stdout.strip_prefix("broken at entry ")?;
    rest.split(':').next()?.parse().ok()
}
