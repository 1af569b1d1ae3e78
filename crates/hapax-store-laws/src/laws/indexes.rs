//! Indexed fields: declared per source, with the time since when.

use hapax_core::Timestamp;
use hapax_core::store::IndexedField;

use crate::Bench;
use crate::bench::Must;

/// A field is indexed since it was first declared, across restarts, as long as every declaration includes it.
pub async fn a_field_is_indexed_since_it_was_declared_without_interruption(bench: &mut Bench) {
    let (one, two) = (field("shop", "/id"), field("bank", "/id"));
    let first = declare(bench, &[&one]).await;
    bench.tick().await;
    bench.reopen().await;
    let both = declare(bench, &[&one, &two]).await;
    assert_eq!(both[0], first[0]);
    assert_eq!(both[1].0, two);
    assert!(both[1].1 > first[0].1, "the second came later");
    assert_eq!(
        declare(bench, &[&two, &one]).await,
        [both[1].clone(), both[0].clone()]
    );
    assert_eq!(declare(bench, &[&two]).await, both[1..]);
    bench.tick().await;
    let again = declare(bench, &[&one]).await;
    assert!(again[0].1 > both[1].1, "an interruption begins it again");
    assert_eq!(declare(bench, &[]).await, []);
}

async fn declare(bench: &Bench, fields: &[&IndexedField]) -> Vec<(IndexedField, Timestamp)> {
    let fields = fields.iter().map(|field| (*field).clone()).collect();
    bench.store.declare_indexes(fields).await.must()
}

fn field(source: &str, pointer: &str) -> IndexedField {
    IndexedField {
        source: source.into(),
        pointer: pointer.to_owned(),
    }
}
