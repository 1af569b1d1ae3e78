//! Saved views: queries with names, a bounded number of them.

use hapax_core::store::{SAVED_VIEWS_MAX, SavedView};

use crate::Bench;
use crate::bench::Must;
use crate::clock::START;

/// A view comes back as it was saved, by name, across restarts; one of the same name replaces it.
pub async fn views_are_kept_by_name_over_a_restart(bench: &mut Bench) {
    for (name, query) in [
        ("zebra", "status:dead"),
        ("äpfel", "since:2h"),
        ("Bach", "a \"b\""),
    ] {
        assert!(bench.store.put_view(view(name, query)).await.must());
    }
    assert!(bench.store.put_view(view("zebra", "source:shop")).await.must());
    bench.reopen().await;
    assert_eq!(
        bench.store.views().await.must(),
        [
            view("Bach", "a \"b\""),
            view("zebra", "source:shop"),
            view("äpfel", "since:2h"),
        ]
    );
}

/// A view is deleted once.
pub async fn a_view_is_deleted_once(bench: &mut Bench) {
    bench.store.put_view(view("mine", "status:dead")).await.must();
    bench.store.put_view(view("theirs", "status:dead")).await.must();
    assert!(bench.store.delete_view("mine").await.must());
    assert!(!bench.store.delete_view("mine").await.must());
    assert!(
        !bench.store.delete_view("THEIRS").await.must(),
        "names compare as bytes"
    );
    assert_eq!(bench.store.views().await.must(), [view("theirs", "status:dead")]);
}

/// When there is no room, only what has the name of one that is kept is taken.
pub async fn at_most_so_many_views_are_kept(bench: &mut Bench) {
    for number in 0..SAVED_VIEWS_MAX {
        let kept = bench.store.put_view(view(&format!("view {number}"), "a")).await;
        assert!(kept.must());
    }
    assert!(!bench.store.put_view(view("one more", "a")).await.must());
    assert!(bench.store.put_view(view("view 7", "b")).await.must());
    let views = bench.store.views().await.must();
    assert_eq!(views.len(), SAVED_VIEWS_MAX);
    assert!(views.contains(&view("view 7", "b")));
    assert!(bench.store.delete_view("view 7").await.must());
    assert!(bench.store.put_view(view("one more", "a")).await.must());
}

fn view(name: &str, query: &str) -> SavedView {
    SavedView {
        name: name.to_owned(),
        query: query.to_owned(),
        by: "ops".to_owned(),
        at: START,
    }
}
