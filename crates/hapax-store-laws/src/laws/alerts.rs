//! Alert state: small values replaced by compare-and-swap, so that only one of several processes acts.

use hapax_core::store::{ALERTS_MAX, AlertState};

use crate::Bench;
use crate::bench::Must;

/// The last value of each name survives restarts. Any bytes are a value, even none.
pub async fn alerts_are_kept_by_name_over_a_restart(bench: &mut Bench) {
    assert_eq!(bench.store.alerts().await.must(), []);
    assert!(swap(bench, "b", None, Some(b"old")).await);
    assert!(swap(bench, "a/b c", None, Some(b"\0\xff")).await);
    assert!(swap(bench, "empty", None, Some(b"")).await);
    assert!(swap(bench, "b", Some(b"old"), Some(b"new")).await);
    bench.reopen().await;
    let kept = [alert("a/b c", b"\0\xff"), alert("b", b"new"), alert("empty", b"")];
    assert_eq!(bench.store.alerts().await.must(), kept);
}

/// If the stored value differs, is missing, or exists unexpectedly, nothing changes.
pub async fn an_alert_is_swapped_only_from_what_it_is(bench: &mut Bench) {
    assert!(!swap(bench, "a", Some(b"1"), Some(b"2")).await);
    assert!(!swap(bench, "a", Some(b"1"), None).await);
    assert_eq!(bench.store.alerts().await.must(), []);
    assert!(swap(bench, "a", None, Some(b"1")).await);
    assert!(!swap(bench, "a", None, Some(b"2")).await);
    assert!(!swap(bench, "a", Some(b"2"), Some(b"3")).await);
    assert!(!swap(bench, "a", Some(b""), None).await);
    assert!(
        !swap(bench, "A", Some(b"1"), None).await,
        "names compare as bytes"
    );
    assert_eq!(bench.store.alerts().await.must(), [alert("a", b"1")]);
    assert!(swap(bench, "a", Some(b"1"), None).await);
    assert!(!swap(bench, "a", Some(b"1"), None).await);
    assert_eq!(bench.store.alerts().await.must(), []);
}

/// Whether they create, change or delete it.
pub async fn of_several_that_swap_one_alert_one_succeeds(bench: &mut Bench) {
    let raised = race(bench, [None; 3], [Some(b"x"), Some(b"y"), Some(b"z")]).await;
    let raised = [b"x", b"y", b"z"][raised];
    let changed = race(bench, [Some(raised); 3], [Some(b"1"), Some(b"2"), Some(b"3")]).await;
    let changed = [b"1", b"2", b"3"][changed];
    assert_eq!(bench.store.alerts().await.must(), [alert("a", changed)]);
    race(bench, [Some(changed); 3], [None; 3]).await;
    assert_eq!(bench.store.alerts().await.must(), []);
}

/// When there is no room, only existing alerts can be changed.
pub async fn at_most_so_many_alerts_are_kept(bench: &mut Bench) {
    for number in 0..ALERTS_MAX {
        assert!(swap(bench, &format!("alert {number}"), None, Some(b"1")).await);
    }
    assert!(!swap(bench, "one more", None, Some(b"1")).await);
    assert!(swap(bench, "alert 7", Some(b"1"), Some(b"2")).await);
    assert_eq!(bench.store.alerts().await.must().len(), ALERTS_MAX);
    assert!(swap(bench, "alert 7", Some(b"2"), None).await);
    assert!(swap(bench, "one more", None, Some(b"1")).await);
}

/// Which of three concurrent swaps succeeded.
async fn race(bench: &Bench, before: [Option<&[u8; 1]>; 3], after: [Option<&[u8; 1]>; 3]) -> usize {
    let one = |at: usize| {
        let (before, after) = (
            before[at].map(|value| &value[..]),
            after[at].map(|value| &value[..]),
        );
        swap(bench, "a", before, after)
    };
    let (first, second, third) = tokio::join!(one(0), one(1), one(2));
    let swapped = [first, second, third];
    assert_eq!(swapped.iter().filter(|won| **won).count(), 1, "{swapped:?}");
    swapped.iter().position(|won| *won).must()
}

async fn swap(bench: &Bench, name: &str, before: Option<&[u8]>, after: Option<&[u8]>) -> bool {
    let (before, after) = (before.map(<[u8]>::to_vec), after.map(<[u8]>::to_vec));
    bench.store.swap_alert(name, before, after).await.must()
}

fn alert(name: &str, value: &[u8]) -> AlertState {
    AlertState {
        name: name.to_owned(),
        value: value.to_vec(),
    }
}
