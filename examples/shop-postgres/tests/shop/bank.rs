//! The bank: 2,000 events of +1, each delivered several times at once, while the shop is killed and the database
//! crashes. The balance is the number of events, to the unit.

use futures_util::StreamExt as _;
use futures_util::future::join_all;
use futures_util::stream;
use hapax_test_postgres::{Database, Server, Stop};
use tokio::sync::watch;

use crate::process::Shop;
use crate::sender::{Sender, checkout};

const EVENTS: u32 = 2000;
/// Each event is delivered 1 to this many times.
const COPIES_MAX: u32 = 5;
/// Events in progress at once.
const CONCURRENT: usize = 24;

#[tokio::test(flavor = "multi_thread")]
async fn the_balance_is_the_number_of_events_whatever_dies_meanwhile() {
    let server = Server::private(&[]).unwrap();
    let database = server.database().await.unwrap();
    let shop = Shop::start(&database.url());
    let orders = "insert into orders (id, email) select 'order-' || n, n || '@example.com' from generate_series(0, 1999) n";
    database
        .client()
        .await
        .unwrap()
        .batch_execute(orders)
        .await
        .unwrap();

    let (tell, address) = watch::channel(shop.address.clone());
    let (count, safe) = watch::channel(0);
    let sending = tokio::spawn(send_all(Sender::new(address), count));
    let shop = disasters(&server, &database, shop, &tell, safe).await;
    let deliveries = sending.await.unwrap();

    let row = database
        .client()
        .await
        .unwrap()
        .query_one(COUNTS, &[])
        .await
        .unwrap();
    let counts: Vec<i64> = (0..4).map(|column| row.get(column)).collect();
    assert_eq!(
        counts,
        [i64::from(EVENTS); 4],
        "balance, orders paid once, mails, notes"
    );
    // The test would prove nothing if no delivery had been interrupted.
    assert!(deliveries.repeated > 0, "{deliveries:?}");
    println!("{deliveries:?}");
    drop(shop);
}

const COUNTS: &str = "select (select balance from account),
    (select count(*) from orders where status = 'paid' and payments = 1),
    (select count(distinct idempotency_key) from hapax_outbox),
    (select count(*) from hapax_inbox)";

#[derive(Debug, Default)]
struct Deliveries {
    copies: u32,
    repeated: u32,
}

/// Sends every event 1 to 5 times concurrently, each until it is safe.
async fn send_all(sender: Sender, safe: watch::Sender<u32>) -> Deliveries {
    let one = |n: u32| {
        let (sender, safe) = (sender.clone(), safe.clone());
        async move {
            let event = checkout(&format!("evt_{n}"), &format!("order-{n}"), 1);
            let copies = fastrand::u32(1..=COPIES_MAX);
            let times: u32 = join_all((0..copies).map(|_| sender.deliver_until_safe(&event)))
                .await
                .into_iter()
                .sum();
            safe.send_modify(|safe| *safe += 1);
            (copies, times - copies)
        }
    };
    let done = stream::iter(0..EVENTS).map(one).buffer_unordered(CONCURRENT);
    done.fold(Deliveries::default(), async |sum, (copies, repeated)| {
        Deliveries {
            copies: sum.copies + copies,
            repeated: sum.repeated + repeated,
        }
    })
    .await
}

/// Kills the shop three times and crashes the database twice, each in the middle of the run.
async fn disasters(
    server: &Server,
    database: &Database,
    mut shop: Shop,
    tell: &watch::Sender<String>,
    mut safe: watch::Receiver<u32>,
) -> Shop {
    for (after, disaster) in [
        (200, Disaster::Kill),
        (600, Disaster::Crash),
        (1000, Disaster::Kill),
        (1300, Disaster::Crash),
        (1600, Disaster::Kill),
    ] {
        safe.wait_for(|safe| *safe >= after).await.unwrap();
        match disaster {
            Disaster::Kill => {
                drop(shop);
                shop = Shop::start(&database.url());
                tell.send(shop.address.clone()).unwrap();
            }
            Disaster::Crash => {
                server.stop(Stop::Immediate).unwrap();
                server.start().unwrap();
            }
        }
    }
    shop
}

#[derive(Clone, Copy)]
enum Disaster {
    Kill,
    Crash,
}
