//! Values that sources keep in addition to their events.

use hapax_core::store::SourceState;

use crate::Bench;
use crate::bench::Must;

/// The last value of each source and name survives restarts.
pub async fn values_of_sources_are_kept_over_a_restart(bench: &mut Bench) {
    assert_eq!(bench.store.source_states().await.must(), []);
    for state in [
        state("b", "one", b"old"),
        state("a", "two", b"\0\xff"),
        state("b", "one", b"new"),
    ] {
        bench.store.put_source_state(state).await.must();
    }
    bench.reopen().await;
    let kept = [state("a", "two", b"\0\xff"), state("b", "one", b"new")];
    assert_eq!(bench.store.source_states().await.must(), kept);
    let [first, _] = kept;
    let found = bench.store.source_state(&"a".into(), "two").await.must();
    assert_eq!(found, Some(first));
    let unknown = bench.store.source_state(&"b".into(), "two").await.must();
    assert_eq!(unknown, None, "another source's is another");
}

/// If several take the same value, one succeeds; the others store nothing.
pub async fn a_value_of_a_source_is_taken_once(bench: &mut Bench) {
    bench
        .store
        .put_source_state(state("a", "ticket", b"1"))
        .await
        .must();
    let (first, second, third) = tokio::join!(take(bench, "x"), take(bench, "y"), take(bench, "z"));
    let taken = [("x", first), ("y", second), ("z", third)];
    let winners: Vec<&str> = taken
        .iter()
        .filter(|(_, won)| *won)
        .map(|(name, _)| *name)
        .collect();
    assert_eq!(winners.len(), 1, "{taken:?}");
    let kept = bench.store.source_states().await.must();
    assert_eq!(kept, [state("a", winners[0], b"won")]);
    let none = bench
        .store
        .take_source_state(&"b".into(), winners[0], None)
        .await
        .must();
    assert!(!none, "another source's is another");
    assert!(
        bench
            .store
            .take_source_state(&"a".into(), winners[0], None)
            .await
            .must()
    );
    assert_eq!(bench.store.source_states().await.must(), []);
}

async fn take(bench: &Bench, winner: &str) -> bool {
    let put = Some(state("a", winner, b"won"));
    bench
        .store
        .take_source_state(&"a".into(), "ticket", put)
        .await
        .must()
}

fn state(source: &str, name: &str, value: &[u8]) -> SourceState {
    SourceState {
        source: source.into(),
        name: name.to_owned(),
        value: value.to_vec(),
    }
}
