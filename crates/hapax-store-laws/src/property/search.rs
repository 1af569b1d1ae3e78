//! Searches, compared: whichever index a store uses, it finds what the model does.

use hapax_core::store::{DeadGroup, DuplicateCount, EventQuery, Has};
use hapax_core::{ErrorClass, EventStatus, Operations, Store};

use super::driver::Driver;
use crate::bench::{ALL, Must};

impl Driver {
    /// Compares the results of each filter, and the groups of dead letters.
    pub(super) async fn compare_searches(&self) {
        for query in queries() {
            let expected = self.model.list(&query, None, ALL).await.must().events;
            assert_eq!(self.bench.list(&query, 2).await, expected, "{query:?}");
        }
        let found = self.bench.store.dead_groups(ALL).await.must();
        let expected = self.model.dead_groups(ALL).await.must();
        assert_eq!(pictures(&found), pictures(&expected));
    }
}

fn queries() -> Vec<EventQuery> {
    let all = EventQuery::default;
    let mut queries = Vec::new();
    for status in EventStatus::ALL {
        queries.push(EventQuery {
            status: Some(status),
            ..all()
        });
    }
    for error in [ErrorClass::Refused, ErrorClass::Lost] {
        queries.push(EventQuery {
            error: Some(error),
            ..all()
        });
    }
    for to in ["free", "extra"] {
        queries.push(EventQuery {
            to: Some(to.into()),
            ..all()
        });
    }
    queries.push(EventQuery {
        to: Some("free".into()),
        status: Some(EventStatus::Dead),
        ..all()
    });
    queries.push(EventQuery {
        source: Some("bank".into()),
        ..all()
    });
    for min in [1, 3] {
        queries.push(EventQuery {
            duplicates: Some(DuplicateCount { min, max: None }),
            ..all()
        });
    }
    queries.push(EventQuery {
        has: Some(Has::Conflict),
        ..all()
    });
    queries
}

/// Groups without their times and last event: two deliveries that end in one call end in any order.
fn pictures(groups: &[DeadGroup]) -> Vec<String> {
    let picture = |group: &DeadGroup| format!("{} {:?} {}", group.destination, group.error, group.count);
    let mut pictures: Vec<String> = groups.iter().map(picture).collect();
    pictures.sort_unstable();
    pictures
}
