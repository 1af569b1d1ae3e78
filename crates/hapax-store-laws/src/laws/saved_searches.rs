//! Saved searches: queries with names, up to a limit.

use hapax_core::store::{SAVED_SEARCHES_MAX, SavedSearch};

use crate::Bench;
use crate::bench::Must;
use crate::clock::START;

/// A search is returned as it was saved, by name, across restarts; one with the same name replaces it.
pub async fn views_are_kept_by_name_over_a_restart(bench: &mut Bench) {
    for (name, query) in [
        ("zebra", "status:dead"),
        ("äpfel", "since:2h"),
        ("Bach", "a \"b\""),
    ] {
        assert!(bench.store.put_saved_search(search(name, query)).await.must());
    }
    assert!(
        bench
            .store
            .put_saved_search(search("zebra", "source:shop"))
            .await
            .must()
    );
    bench.reopen().await;
    assert_eq!(
        bench.store.saved_searches().await.must(),
        [
            search("Bach", "a \"b\""),
            search("zebra", "source:shop"),
            search("äpfel", "since:2h"),
        ]
    );
}

/// A search is deleted once.
pub async fn a_view_is_deleted_once(bench: &mut Bench) {
    bench
        .store
        .put_saved_search(search("mine", "status:dead"))
        .await
        .must();
    bench
        .store
        .put_saved_search(search("theirs", "status:dead"))
        .await
        .must();
    assert!(bench.store.delete_saved_search("mine").await.must());
    assert!(!bench.store.delete_saved_search("mine").await.must());
    assert!(
        !bench.store.delete_saved_search("THEIRS").await.must(),
        "names compare as bytes"
    );
    assert_eq!(
        bench.store.saved_searches().await.must(),
        [search("theirs", "status:dead")]
    );
}

/// When there is no room, only an existing search can be replaced.
pub async fn at_most_so_many_views_are_kept(bench: &mut Bench) {
    for number in 0..SAVED_SEARCHES_MAX {
        let kept = bench
            .store
            .put_saved_search(search(&format!("search {number}"), "a"))
            .await;
        assert!(kept.must());
    }
    assert!(!bench.store.put_saved_search(search("one more", "a")).await.must());
    assert!(bench.store.put_saved_search(search("search 7", "b")).await.must());
    let saved_searches = bench.store.saved_searches().await.must();
    assert_eq!(saved_searches.len(), SAVED_SEARCHES_MAX);
    assert!(saved_searches.contains(&search("search 7", "b")));
    assert!(bench.store.delete_saved_search("search 7").await.must());
    assert!(bench.store.put_saved_search(search("one more", "a")).await.must());
}

fn search(name: &str, query: &str) -> SavedSearch {
    SavedSearch {
        name: name.to_owned(),
        query: query.to_owned(),
        by: "ops".to_owned(),
        at: START,
    }
}
