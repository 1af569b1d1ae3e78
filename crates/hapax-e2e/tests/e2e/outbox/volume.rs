//! Many rows: those that wait behind a refused one delay no others, and old ones are deleted as fast as they expire.

use std::ops::Range;
use std::time::{Duration, Instant};

use super::app::{App, Row};
use super::{LIMIT, setup, setup_with};
use hapax_testkit::{Sink, eventually};

/// Rows that wait behind a refused one.
const BEHIND: usize = 200_000;
/// Old relayed rows: more than could be deleted in a minute at a thousand in ten seconds.
const OLD: usize = 10_000;
/// How much longer a row may take to reach its target while all of those wait: far less than scanning each of them
/// takes.
const UNNOTICED: Duration = Duration::from_millis(400);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_notices_the_rows_that_wait_behind_a_refused_one() {
    for app in [App::postgres().await, App::sqlite()] {
        let sink = Sink::start().await;
        let service = setup(&app, &sink).start().await;
        app.write(&Row::destination("nowhere", "bad").in_order("a")).await;
        eventually("the row is refused", LIMIT, async || {
            let shown = service.hapax(&["outbox", "list", "--json"]).await.json();
            (shown["outboxes"][0]["refused"] == 1).then_some(())
        })
        .await;
        let before = median(&app, &sink, 0..20).await;
        app.write_many(BEHIND, &sink.url(), "a").await;
        let behind = median(&app, &sink, 20..40).await;
        assert!(
            behind < 2 * before + UNNOTICED,
            "{behind:?} instead of {before:?}"
        );
        // Once the refused row is gone, its key resumes where it stopped.
        app.delete("bad").await;
        sink.until_effects(41, LIMIT).await;
        assert_eq!(sink.order_applied()[40], "many 1");
    }
}

/// How long rows of other keys take to reach their target, one after the other.
async fn median(app: &App, sink: &Sink, numbers: Range<usize>) -> Duration {
    let mut took = Vec::new();
    for n in numbers {
        let started = Instant::now();
        let row = Row::http(&sink.url(), &format!("beside {n}"));
        let row = if n % 2 == 0 { row.in_order("b") } else { row };
        app.write(&row).await;
        sink.until_effects(n + 1, LIMIT).await;
        took.push(started.elapsed());
    }
    took.sort_unstable();
    took[took.len() / 2]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn old_rows_are_deleted_as_fast_as_they_come_while_the_relay_is_busy() {
    for app in [App::postgres().await, App::sqlite()] {
        let sink = Sink::start().await;
        app.write_many(OLD, &sink.url(), "a").await;
        app.age("many").await;
        let service = setup_with(&app, &sink, "retention = \"1m\"\n").start().await;
        let mut written = 0;
        eventually("no old row is left", Duration::from_secs(20), async || {
            app.write(&Row::http(&sink.url(), &format!("new {written}")))
                .await;
            written += 1;
            (app.old().await == 0).then_some(())
        })
        .await;
        sink.until_effects(written, LIMIT).await;
        app.until_relayed(written * 2, LIMIT).await;
        drop(service);
    }
}
