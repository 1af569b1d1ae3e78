//! Calls for events are not refused because of searches and upkeep, however many there are.

use std::sync::Arc;

use hapax_core::Store;
use hapax_core::store::{Error, EventQuery};
use hapax_store_redis::{Options, RedisStore};
use hapax_test_redis::Server;

use crate::bench::{Maker, accept_again, accept_new};

const CALLS_MAX: usize = 4;

#[tokio::test(flavor = "multi_thread")]
async fn no_search_and_no_upkeep_takes_the_place_of_an_event() {
    let server = Server::start(&[]).unwrap();
    let options = Options {
        calls_max: CALLS_MAX,
        ..Options::new(server.url())
    };
    let store = Arc::new(RedisStore::open(options).await.unwrap());
    // While the server is silent, calls keep their slots.
    server.freeze().unwrap();
    let looks: Vec<_> = (0..2 * CALLS_MAX)
        .map(|n| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                match n % 2 {
                    0 => store.list(&EventQuery::default(), None, 10).await.map(drop),
                    _ => store.counts().await.map(drop),
                }
            })
        })
        .collect();
    while looks.iter().filter(|look| look.is_finished()).count() < CALLS_MAX {
        tokio::task::yield_now().await;
    }
    let event = Maker::default().event("evt_1");
    let accepting = {
        let (store, event) = (Arc::clone(&store), event.clone());
        tokio::spawn(async move { accept_new(&store, &event).await })
    };
    // Long enough to take a slot or to be refused: no slot is released before the server continues.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    server.thaw().unwrap();
    accepting.await.unwrap();
    accept_again(&store, &event).await;
    let mut refused = 0;
    for look in looks {
        match look.await.unwrap() {
            Ok(()) => {}
            Err(Error::Overloaded) => refused += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(refused, CALLS_MAX);
}
