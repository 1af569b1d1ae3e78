//! Names bound to the first body that arrived with them.

use hapax_core::store::{Binding, PurgeOrder};
use hapax_core::{BodyHash, Timestamp};

use crate::Bench;
use crate::bench::{LONG, Must};

/// The first body gets the name in its scope, and keeps it across a restart.
pub async fn a_name_is_bound_to_the_first_body_over_a_restart(bench: &mut Bench) {
    let until = bench.now().await.plus(LONG);
    assert!(bind(bench, "shop", "name", "first", until).await);
    assert!(bind(bench, "shop", "name", "first", until).await);
    assert!(!bind(bench, "shop", "name", "other", until).await);
    assert!(
        bind(bench, "shop", "Name", "other", until).await,
        "names compare as bytes"
    );
    assert!(
        bind(bench, "bank", "name", "other", until).await,
        "scopes are apart"
    );
    bench.reopen().await;
    assert!(!bind(bench, "shop", "name", "other", until).await);
    assert!(bind(bench, "shop", "name", "first", until).await);
}

/// Exactly one of several is the first.
pub async fn of_several_that_bind_one_name_one_succeeds(bench: &mut Bench) {
    let until = bench.now().await.plus(LONG);
    let one = |body| bind(bench, "shop", "name", body, until);
    let (first, second, third) = tokio::join!(one("first"), one("second"), one("third"));
    let bound = [first, second, third];
    assert_eq!(bound.iter().filter(|bound| **bound).count(), 1, "{bound:?}");
}

/// A name whose binding has expired may be bound to another body.
pub async fn a_binding_goes_when_its_time_is_over(bench: &mut Bench) {
    let now = bench.now().await;
    assert!(bind(bench, "shop", "old", "first", now.minus(LONG)).await);
    assert!(bind(bench, "shop", "young", "first", now.plus(LONG)).await);
    let order = PurgeOrder {
        windows: Vec::new(),
        ledger_before: Timestamp::default(),
        limit: 100,
    };
    bench.purge(&order).await;
    assert!(bind(bench, "shop", "old", "other", now.plus(LONG)).await);
    assert!(!bind(bench, "shop", "young", "other", now.plus(LONG)).await);
}

async fn bind(bench: &Bench, scope: &str, name: &str, body: &str, until: Timestamp) -> bool {
    let binding = Binding {
        scope: scope.into(),
        name: name.to_owned(),
        raw_hash: BodyHash::of(body.as_bytes()),
        until,
    };
    bench.store.bind(binding).await.must()
}
