//! Sessions of the dashboard: signing out on one replica signs out on all of them, and closes open streams there.

use super::{LIMIT, Replicas};
use hapax_testkit::{Sender, Service, Setup, Sink, Visitor, Wire};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";
/// The name that browsers know for all replicas.
const HOST: &str = "127.0.0.1";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_signs_out_on_one_replica_is_out_on_all_and_their_live_tail_ends() {
    let sink = Sink::start().await;
    let admin_token = format!("admin_token = \"{TOKEN}\"");
    let replicas = Replicas::start_with(2, || Setup::stripe_to(&sink).server(&admin_token)).await;
    let [here, there] = &replicas.services[..] else {
        unreachable!("two were started");
    };
    let (mut first, mut second) = (signed_in(here).await, signed_in(there).await);
    for service in [here, there] {
        for visitor in [&mut first, &mut second] {
            assert_eq!(status(service, visitor, "/events").await, 200);
        }
    }
    let mut tail = Wire::open(there.setup.admin).await.patient_for(LIMIT);
    let headers = [
        ("host", HOST),
        ("cookie", &first.cookies(HOST)),
        ("connection", "close"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(tail.ask("GET", "/events/live", &headers, b"").await.status, 200);
    there
        .deliver_twice(&Sender::of("stripe").event("evt_before"))
        .await;

    sign_out(here, &mut first, &[]).await;
    for path in ["/events", "/api/v1/events"] {
        for service in [here, there] {
            assert_ne!(status(service, &mut first, path).await, 200, "{path}");
            assert_eq!(status(service, &mut second, path).await, 200, "{path}");
        }
    }
    let seen = tail.hear_out().await;
    assert!(seen.contains("evt_before"), "{seen}");

    let mut third = signed_in(here).await;
    sign_out(there, &mut second, &[("everywhere", "yes")]).await;
    for service in [here, there] {
        for visitor in [&mut second, &mut third] {
            assert_eq!(status(service, visitor, "/events").await, 303);
        }
    }
}

async fn signed_in(service: &Service) -> Visitor {
    let visitor = Visitor::new(&format!("http://{HOST}"), service.setup.admin);
    visitor.sign_in_with(TOKEN).await;
    visitor
}

async fn sign_out(service: &Service, visitor: &mut Visitor, how: &[(&str, &str)]) {
    let answer = visitor
        .at(service.setup.admin)
        .form("/events", "/logout", how)
        .await;
    assert_eq!(answer.status, 303, "{}", answer.text());
}

async fn status(service: &Service, visitor: &mut Visitor, path: &str) -> u16 {
    visitor.at(service.setup.admin).page(path).await.status
}
