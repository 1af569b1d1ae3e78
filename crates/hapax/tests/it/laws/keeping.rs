//! How long rows are kept.

use std::time::Duration;

use hapax::{Inbox, Outcome};

use super::{BALANCE, event, for_every_driver, patient};
use crate::subject::{Step, Subject};

for_every_driver!(
    purging_takes_what_has_expired_and_at_most_what_it_may,
    a_replay_keeps_the_note_as_long_again_and_a_copy_does_not,
);

const ROWS: &str = "select count(*) from hapax_inbox";

/// An inbox whose rows expire as soon as they are written.
fn forgetful() -> Inbox {
    Inbox::new("forgetful").unwrap().retention(Duration::ZERO)
}

async fn purging_takes_what_has_expired_and_at_most_what_it_may<S: Subject>() {
    let subject = S::new().await;
    for id in ["evt_1", "evt_2", "evt_3"] {
        for _ in 0..2 {
            let _ = subject.run(&forgetful(), &event(id), Step::Add).await.unwrap();
        }
    }
    let _ = subject.run(&patient(), &event("evt_1"), Step::Add).await.unwrap();
    assert_eq!(
        subject.number(BALANCE).await,
        4,
        "expired, but not purged: still known"
    );
    until_expired(&subject, 3).await;
    assert_eq!(subject.purge(2).await, 2);
    assert_eq!(subject.purge(2).await, 1);
    assert_eq!(subject.purge(2).await, 0);
    assert_eq!(subject.number(ROWS).await, 1);
    let again = subject.run(&patient(), &event("evt_1"), Step::Add).await.unwrap();
    assert_eq!(again, Outcome::Duplicate);
}

async fn a_replay_keeps_the_note_as_long_again_and_a_copy_does_not<S: Subject>() {
    let subject = S::new().await;
    for id in ["copied", "replayed"] {
        let _ = subject.run(&forgetful(), &event(id), Step::Add).await.unwrap();
    }
    let longer = forgetful().retention(Duration::from_secs(3600));
    let copied = subject.run(&longer, &event("copied"), Step::Add).await.unwrap();
    let replayed = subject
        .run(&longer, &event("replayed").replayed(), Step::Add)
        .await
        .unwrap();
    assert_eq!((copied, replayed), (Outcome::Duplicate, Outcome::Duplicate));
    until_expired(&subject, 1).await;
    assert_eq!(subject.purge(10).await, 1);
    let again = subject.run(&longer, &event("replayed"), Step::Add).await.unwrap();
    assert_eq!(again, Outcome::Duplicate);
    assert_eq!(subject.number(BALANCE).await, 2);
}

/// SQLite's clock has a resolution of whole seconds here: waits until this many rows have expired.
async fn until_expired<S: Subject>(subject: &S, rows: i64) {
    let postgres = "select count(*) from hapax_inbox where expires_at < now()";
    let sqlite = "select count(*) from hapax_inbox
        where expires_at < cast(strftime('%s', 'now') as integer) * 1000";
    let sql = if std::any::type_name::<S>().contains("Rusqlite") {
        sqlite
    } else {
        postgres
    };
    while subject.number(sql).await < rows {
        tokio::task::yield_now().await;
    }
}
