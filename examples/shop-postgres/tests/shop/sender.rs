//! A sender: signs as Stripe does, and delivers until the event is acknowledged.

use std::time::Duration;

use bytes::Bytes;
use hapax_verify::catalogue;
use hapax_verify::sign::Signer;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::sync::watch;

pub(crate) const SECRET: &str = "whsec_shop";

/// How long a sender waits before it retries: far less than a real one.
const BACK_OFF: Duration = Duration::from_millis(25);

/// How long it waits for an answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A sender that knows where the shop currently is.
#[derive(Clone)]
pub(crate) struct Sender {
    client: Client<HttpConnector, Full<Bytes>>,
    shop: watch::Receiver<String>,
}

impl Sender {
    pub(crate) fn new(shop: watch::Receiver<String>) -> Self {
        Self {
            client: Client::builder(TokioExecutor::new()).build_http(),
            shop,
        }
    }

    /// One delivery. Returns status and body, or `None` if there was no answer.
    pub(crate) async fn deliver(&self, event: &str) -> Option<(u16, String)> {
        let url = format!("http://{}/webhooks/stripe", *self.shop.borrow());
        let signer = Signer::new(catalogue::get("stripe").unwrap().proof.scheme().unwrap(), SECRET).unwrap();
        let mut request = Request::post(url);
        for (name, value) in signer.sign("", now(), "POST", "", event.as_bytes()) {
            request = request.header(name, value);
        }
        let request = request
            .body(Full::new(Bytes::copy_from_slice(event.as_bytes())))
            .unwrap();
        let answer = tokio::time::timeout(TIMEOUT, self.client.request(request))
            .await
            .ok()?
            .ok()?;
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await.ok()?.to_bytes();
        Some((status, String::from_utf8_lossy(&body).into_owned()))
    }

    /// Delivers until 2xx, as senders do. Returns the number of deliveries.
    pub(crate) async fn deliver_until_safe(&self, event: &str) -> u32 {
        let mut times = 0;
        loop {
            times += 1;
            match self.deliver(event).await {
                Some((200..300, _)) => return times,
                Some(_) | None => tokio::time::sleep(BACK_OFF).await,
            }
        }
    }
}

/// Stripe's event for a completed checkout.
pub(crate) fn checkout(event_id: &str, order: &str, amount: u32) -> String {
    format!(
        r#"{{"id":"{event_id}","object":"event","type":"checkout.session.completed","data":{{"object":{{"id":"cs_1","client_reference_id":"{order}","amount_total":{amount}}}}}}}"#
    )
}

fn now() -> i64 {
    let since = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    since.as_secs().try_into().unwrap()
}
