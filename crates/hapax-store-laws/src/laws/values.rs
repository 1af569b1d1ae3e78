//! Small values with names: saved searches, the states of alerts, values of sources. Each is replaced only if it is what
//! the caller expects, so that only one of several processes acts.

use hapax_core::SourceName;
use hapax_core::store::{NamedValue, SavedSearch, Swapped, ValueSpace, ValueSwap};

use crate::Bench;
use crate::bench::Must;
use crate::clock::START;

/// The last value of each name survives restarts. Any bytes are a value, even none.
pub async fn values_are_kept_by_name_over_a_restart(bench: &mut Bench) {
    for space in spaces() {
        assert_eq!(bench.store.values(&space).await.must(), []);
        for (name, value) in [
            ("zebra", &b"old"[..]),
            ("äpfel", b"\0\xff"),
            ("a/b c", b""),
            ("zebra", b"new"),
        ] {
            let put = ValueSwap::put(space.clone(), named(&space, name, value));
            assert_eq!(bench.store.swap_value(put).await.must(), Swapped::Done);
        }
    }
    bench.reopen().await;
    for space in spaces() {
        let kept = [
            named(&space, "a/b c", b""),
            named(&space, "zebra", b"new"),
            named(&space, "äpfel", b"\0\xff"),
        ];
        assert_eq!(bench.store.values(&space).await.must(), kept);
        for NamedValue { name, value } in kept {
            assert_eq!(bench.store.value(&space, &name).await.must(), Some(value));
        }
        let unknown = bench.store.value(&space, "ZEBRA").await.must();
        assert_eq!(unknown, None, "names compare as bytes");
    }
}

/// The same name in another space, or of another source, is another value.
pub async fn spaces_do_not_share_values(bench: &mut Bench) {
    assert_eq!(bench.store.sources_with_values().await.must(), []);
    for space in spaces() {
        assert_eq!(swap(bench, &space, None, Some(b"1")).await, Swapped::Done);
    }
    let sources = bench.store.sources_with_values().await.must();
    assert_eq!(sources, ["ledger", "shop"].map(SourceName::from));
    let [first, others @ ..] = spaces();
    assert_eq!(swap(bench, &first, Some(b"1"), None).await, Swapped::Done);
    assert_eq!(values(bench, &first).await, []);
    for space in others {
        assert_eq!(values(bench, &space).await, [named(&space, "a", b"1")]);
        assert_eq!(swap(bench, &space, Some(b"1"), None).await, Swapped::Done);
    }
    assert_eq!(bench.store.sources_with_values().await.must(), []);
}

/// If the stored value differs, is missing, or exists unexpectedly, nothing changes.
pub async fn a_value_is_swapped_only_from_what_it_is(bench: &mut Bench) {
    for space in spaces() {
        let differs = async |before: Option<&[u8]>, after: Option<&[u8]>| {
            assert_eq!(swap(bench, &space, before, after).await, Swapped::Differs);
        };
        differs(Some(b"1"), Some(b"2")).await;
        differs(Some(b"1"), None).await;
        assert_eq!(values(bench, &space).await, []);
        assert_eq!(swap(bench, &space, None, None).await, Swapped::Done);
        assert_eq!(swap(bench, &space, None, Some(b"1")).await, Swapped::Done);
        differs(None, Some(b"2")).await;
        differs(None, None).await;
        differs(Some(b"2"), Some(b"3")).await;
        differs(Some(b""), None).await;
        let upper = ValueSwap::take(space.clone(), "A", None);
        let upper = bench.store.swap_value(upper).await.must();
        assert_eq!(upper, Swapped::Differs, "names compare as bytes");
        assert_eq!(values(bench, &space).await, [named(&space, "a", b"1")]);
        assert_eq!(swap(bench, &space, Some(b"1"), Some(b"2")).await, Swapped::Done);
        assert_eq!(values(bench, &space).await, [named(&space, "a", b"2")]);
        assert_eq!(swap(bench, &space, Some(b"2"), None).await, Swapped::Done);
        differs(Some(b"2"), None).await;
        assert_eq!(values(bench, &space).await, []);
    }
}

/// Whether they create, change or delete it.
pub async fn of_several_that_swap_one_value_one_succeeds(bench: &mut Bench) {
    for space in spaces() {
        let race = async |before: Option<&[u8]>, after: [Option<&[u8]>; 3]| {
            let swaps = after.map(|after| exact(&space, before, after));
            one_of(bench, swaps).await
        };
        let texts: [&[u8]; 3] = [b"x", b"y", b"z"];
        let created = texts[race(None, texts.map(Some)).await];
        let numbers: [&[u8]; 3] = [b"1", b"2", b"3"];
        let changed = numbers[race(Some(created), numbers.map(Some)).await];
        assert_eq!(values(bench, &space).await, [named(&space, "a", changed)]);
        race(Some(changed), [None; 3]).await;
        assert_eq!(values(bench, &space).await, []);
    }
}

/// If several take the same value and each leaves another in its place, one succeeds; the others leave nothing.
pub async fn a_value_is_taken_once(bench: &mut Bench) {
    for space in spaces() {
        let put = ValueSwap::put(space.clone(), named(&space, "ticket", b"1"));
        assert_eq!(bench.store.swap_value(put).await.must(), Swapped::Done);
        let left = ["x", "y", "z"].map(|name| named(&space, name, b"won"));
        let take = |put: &NamedValue| ValueSwap::take(space.clone(), "ticket", Some(put.clone()));
        let won = one_of(bench, left.each_ref().map(take)).await;
        assert_eq!(values(bench, &space).await, [left[won].clone()]);
        let again = ValueSwap::take(space.clone(), "ticket", None);
        assert_eq!(bench.store.swap_value(again).await.must(), Swapped::Differs);
        let last = ValueSwap::take(space.clone(), left[won].name.as_str(), None);
        assert_eq!(bench.store.swap_value(last).await.must(), Swapped::Done);
        assert_eq!(values(bench, &space).await, []);
    }
}

/// Of several that take the last room, one succeeds. From then on, only existing values can be replaced, under their
/// name or another.
pub async fn at_most_so_many_values_are_kept(bench: &mut Bench) {
    for space in spaces() {
        let Some(limit) = space.limit() else { continue };
        let put = |name: &str, value| ValueSwap::put(space.clone(), named(&space, name, value));
        for number in 1..limit {
            let added = put(&number.to_string(), b"1");
            assert_eq!(bench.store.swap_value(added).await.must(), Swapped::Done);
        }
        one_of(bench, ["x", "y", "z"].map(|name| put(name, b"1"))).await;
        let more = put("one more", b"1");
        assert_eq!(bench.store.swap_value(more.clone()).await.must(), Swapped::Full);
        assert_eq!(swap(bench, &space, None, Some(b"1")).await, Swapped::Full);
        let replaced = put("7", b"2");
        assert_eq!(bench.store.swap_value(replaced).await.must(), Swapped::Done);
        let renamed = ValueSwap::take(space.clone(), "7", Some(named(&space, "seven", b"3")));
        assert_eq!(bench.store.swap_value(renamed).await.must(), Swapped::Done);
        let kept = values(bench, &space).await;
        assert_eq!(kept.len(), limit);
        assert!(kept.contains(&named(&space, "seven", b"3")));
        let gone = ValueSwap::take(space.clone(), "seven", None);
        assert_eq!(bench.store.swap_value(gone).await.must(), Swapped::Done);
        assert_eq!(bench.store.swap_value(more).await.must(), Swapped::Done);
    }
}

fn spaces() -> [ValueSpace; 4] {
    [
        ValueSpace::Source("shop".into()),
        ValueSpace::Source("ledger".into()),
        ValueSpace::Alerts,
        ValueSpace::SavedSearches,
    ]
}

/// A value as its space expects it.
fn named(space: &ValueSpace, name: &str, value: &[u8]) -> NamedValue {
    match space {
        ValueSpace::SavedSearches => {
            let search = SavedSearch {
                name: name.to_owned(),
                query: value.escape_ascii().to_string(),
                by: "ops".to_owned(),
                at: START,
            };
            search.to_value()
        }
        ValueSpace::Alerts | ValueSpace::Source(_) => NamedValue::new(name, value),
    }
}

/// Replaces exactly one value of `a` with another.
fn exact(space: &ValueSpace, before: Option<&[u8]>, after: Option<&[u8]>) -> ValueSwap {
    let value = |value| named(space, "a", value).value;
    ValueSwap::exact(space.clone(), "a", before.map(value), after.map(value))
}

async fn swap(bench: &Bench, space: &ValueSpace, before: Option<&[u8]>, after: Option<&[u8]>) -> Swapped {
    bench.store.swap_value(exact(space, before, after)).await.must()
}

/// Runs three swaps at once, and returns which one succeeded.
async fn one_of(bench: &Bench, swaps: [ValueSwap; 3]) -> usize {
    let [first, second, third] = swaps.map(|swap| bench.store.swap_value(swap));
    let (first, second, third) = tokio::join!(first, second, third);
    let swapped = [first, second, third].map(|swapped| swapped.must().is_done());
    assert_eq!(swapped.iter().filter(|won| **won).count(), 1, "{swapped:?}");
    swapped.iter().position(|won| *won).must()
}

async fn values(bench: &Bench, space: &ValueSpace) -> Vec<NamedValue> {
    bench.store.values(space).await.must()
}
