//! Staged calls commit with the handler's changes, or not at all.

use std::collections::BTreeSet;

use hapax::Outcome;

use super::{event, for_every_driver, patient};
use crate::subject::{Step, Subject};

for_every_driver!(
    staged_calls_commit_with_the_work_only,
    a_run_after_a_rollback_stages_the_same_keys,
);

const CALLS: &str = "select count(*) from hapax_outbox where state = 'pending' and kind = 'http'
    and consumer = 'billing' and scope = 'stripe' and event_id = 'evt_1'";

async fn staged_calls_commit_with_the_work_only<S: Subject>() {
    let subject = S::new().await;
    for _ in 0..2 {
        subject
            .run(&patient(), &event("evt_1"), Step::StageAndFail)
            .await
            .unwrap_err();
        assert_eq!(subject.number("select count(*) from hapax_outbox").await, 0);
    }
    for expected in [Outcome::Processed(()), Outcome::Duplicate] {
        assert_eq!(
            subject
                .run(&patient(), &event("evt_1"), Step::Stage)
                .await
                .unwrap(),
            expected
        );
        assert_eq!(subject.number(CALLS).await, 2);
    }
}

async fn a_run_after_a_rollback_stages_the_same_keys<S: Subject>() {
    let (fresh, shaken) = (S::new().await, S::new().await);
    shaken
        .run(&patient(), &event("evt_1"), Step::StageAndFail)
        .await
        .unwrap_err();
    for subject in [&fresh, &shaken] {
        for _ in 0..2 {
            let _ = subject
                .run(&patient(), &event("evt_1"), Step::Stage)
                .await
                .unwrap();
        }
    }
    let keys = fresh.keys().await;
    assert_eq!(keys, shaken.keys().await);
    assert_eq!(
        keys.iter().collect::<BTreeSet<_>>().len(),
        2,
        "each call has its own key"
    );
}
