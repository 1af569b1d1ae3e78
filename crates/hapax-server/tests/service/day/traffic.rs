//! A day of two providers: new events all the time, a duplicate now and then, and from one of them a storm of retries.

use hapax_core::Clock as _;
use hapax_server::Server;
use hapax_testkit::{HttpResponse, Wire};
use tokio::process::Command;

use super::STORM;
use super::clock::DayClock;
use crate::site::{SECRET, inhouse_headers, stripe_headers_with};

/// Each provider sends an event this often, in steps.
const EVENT_EVERY: u64 = 3;
/// One of this many events is sent twice, the duplicate a step later.
const COPY_EVERY: u64 = 50;
/// How far back the storm reaches, in steps: three hours.
const STORM_REACH: u64 = 3 * 360;
/// How often the storm repeats each event.
const STORM_COPIES: u64 = 3;

/// Both providers.
pub(super) struct Traffic {
    wire: Wire,
}

impl Traffic {
    pub(super) async fn to(server: &Server) -> Self {
        Self {
            wire: Wire::open(server.ingest_address()).await,
        }
    }

    /// Sends the requests of this step.
    pub(super) async fn pass(&mut self, step: u64, clock: &DayClock) {
        if step.is_multiple_of(EVENT_EVERY) {
            self.both(step, clock, "accepted").await;
        }
        let copied = step.saturating_sub(1);
        if step > 0 && copied.is_multiple_of(EVENT_EVERY * COPY_EVERY) {
            self.both(copied, clock, "duplicate").await;
        }
        if STORM.contains(&step) {
            self.storm(step).await;
        }
    }

    async fn both(&mut self, number: u64, clock: &DayClock, status: &str) {
        let body = format!(r#"{{"id":"evt_{number}","type":"invoice.paid"}}"#);
        let headers = stripe_headers_with(SECRET, clock.now().as_seconds(), body.as_bytes());
        let stripe = self.wire.post("/in/stripe", &headers, body.as_bytes()).await;
        let inhouse = self.inhouse(number).await;
        for reply in [stripe, inhouse] {
            assert_eq!(reply.json()["status"], status, "{reply:?}");
        }
    }

    /// Sends the events of three hours, each several times, spread over the storm.
    async fn storm(&mut self, step: u64) {
        let events: Vec<u64> = (STORM.start - STORM_REACH..STORM.start)
            .filter(|number| number.is_multiple_of(EVENT_EVERY))
            .collect();
        let each = (events.len() as u64 * STORM_COPIES).div_ceil(STORM.end - STORM.start);
        let first = (step - STORM.start) * each;
        for place in first..first + each {
            let number = events[place as usize % events.len()];
            let reply = self.inhouse(number).await;
            assert_eq!(reply.json()["status"], "duplicate", "{reply:?}");
        }
    }

    async fn inhouse(&mut self, number: u64) -> HttpResponse {
        let body = format!(r#"{{"order":{number}}}"#);
        let mut headers = inhouse_headers(body.as_bytes());
        headers.push(("x-event-id".to_owned(), format!("order-{number}")));
        self.wire.post("/in/inhouse", &headers, body.as_bytes()).await
    }
}

/// The output of `hapax stats duplicates`.
pub(super) async fn duplicates(server: &Server) -> String {
    let ran = Command::new(hapax_testkit::binary())
        .args(["stats", "duplicates", "--range", "24h", "--admin"])
        .arg(format!("http://{}", server.admin_address()))
        .output()
        .await
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
    String::from_utf8(ran.stdout).unwrap()
}
