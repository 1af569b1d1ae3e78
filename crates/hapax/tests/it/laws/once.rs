//! The low door.

use hapax::Outcome;

use super::{BALANCE, delivery, for_every_driver};
use crate::subject::Subject;

for_every_driver!(the_low_door_opens_once);

async fn the_low_door_opens_once<S: Subject>() {
    let subject = S::new().await;
    assert!(subject.once("stripe", "evt_1", "billing").await);
    assert!(!subject.once("stripe", "evt_1", "billing").await);
    assert!(subject.once("github", "evt_1", "billing").await);
    assert_eq!(subject.number(BALANCE).await, 2);
    // It is the same inbox, and a claim without a hash is not a conflict.
    assert_eq!(subject.run(delivery()).await.unwrap(), Outcome::Duplicate);
}
