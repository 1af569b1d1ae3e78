//! A service under test, and deliveries signed as their provider signs them.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use hapax_config::{self as config, Config, Environment};
use hapax_server::{Server, Tuning};
use hapax_testkit::{HttpResponse, Wire, wire};
use hapax_verify::sign::{Delivery, ProviderSigner, Signer};
use hapax_verify::{Options, catalogue};

pub(super) const SECRET: &str = "whsec_c2VjcmV0IG9mIHRoZSB0ZXN0cw==";
pub(super) const OTHER_SECRET: &str = "whsec_YW5vdGhlciBzZWNyZXQgb2YgdGVzdHM=";

const STATE_KEY: &str = "0123456789abcdef0123456789abcdef";

/// A service with its own store.
pub(super) struct Site {
    pub(super) server: Server,
    pub(super) dir: tempfile::TempDir,
}

impl Site {
    /// With the source `stripe` and the configuration in `more`.
    pub(super) async fn start(more: &str) -> Self {
        Self::tuned(more, Tuning::default()).await
    }

    pub(super) async fn tuned(more: &str, tuning: Tuning) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let config = configuration(dir.path(), &format!("{STRIPE}{more}"));
        let server = Server::start(config, tuning).await.unwrap();
        Self { server, dir }
    }

    /// Another configuration for the same store.
    pub(super) async fn reload(&self, text: &str) {
        self.server.reload(configuration(self.dir.path(), text)).await;
    }

    pub(super) async fn post(&self, path: &str, headers: &[(String, String)], body: &[u8]) -> HttpResponse {
        wire::post(self.server.ingest_address(), path, headers, body).await
    }

    /// A Stripe event with this id, signed now.
    pub(super) async fn stripe(&self, id: &str) -> HttpResponse {
        let body = format!(r#"{{"id":"{id}","type":"invoice.paid"}}"#);
        self.post("/in/stripe", &stripe_headers(body.as_bytes()), body.as_bytes())
            .await
    }
}

/// The source that most tests use.
pub(super) const STRIPE: &str = "
[sources.stripe]
provider = \"stripe\"
secrets = [\"env:SECRET\"]
";

/// A source with ids in a header.
pub(super) const INHOUSE: &str = "
[sources.inhouse]
verify = { scheme = \"hmac-sha256\", header = \"x-signature\" }
event_id = \"header:x-event-id\"
secrets = [\"env:SECRET\"]
";

pub(super) fn configuration(dir: &Path, text: &str) -> Config {
    let store = dir.join("hapax.db");
    configuration_at(&format!("sqlite:{}", store.display()), text)
}

/// With the store at this URL.
pub(super) fn configuration_at(store: &str, text: &str) -> Config {
    let text = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\nadmin_listen = \"127.0.0.1:0\"\nbody_limit = \"64KiB\"\n\
         [store]\nurl = \"{store}\"\nencryption_keys = [\"env:STATE_KEY\"]\n{text}",
    );
    let environment = Environment::with([
        ("SECRET", SECRET),
        ("OTHER_SECRET", OTHER_SECRET),
        ("STATE_KEY", STATE_KEY),
    ]);
    config::parse(&text, Path::new("hapax.toml"), &environment, &[]).unwrap()
}

pub(super) fn now() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()).unwrap()
}

pub(super) fn stripe_headers(body: &[u8]) -> Vec<(String, String)> {
    stripe_headers_with(SECRET, now(), body)
}

pub(super) fn stripe_headers_with(secret: &str, at: i64, body: &[u8]) -> Vec<(String, String)> {
    let stripe = catalogue::get("stripe").unwrap();
    Signer::new(stripe.proof.scheme().unwrap(), secret)
        .unwrap()
        .sign("", at, "POST", "", body)
}

/// A request to the admin API, from this machine.
pub(super) async fn admin(server: &Server, method: &str, path: &str, body: &str) -> HttpResponse {
    let headers = [("host".to_owned(), "127.0.0.1".to_owned())];
    let mut wire = Wire::open(server.admin_address()).await;
    wire.ask(method, path, &headers, body.as_bytes()).await
}

/// The headers of a provider's delivery.
pub(super) fn signed(provider: &str, secret: &str, body: &[u8]) -> Vec<(String, String)> {
    let provider = catalogue::get(provider).unwrap();
    let delivery = Delivery {
        timestamp: now(),
        body: body.to_vec(),
        ..Delivery::default()
    };
    let signer = ProviderSigner::new(provider, secret, &Options::default()).unwrap();
    signer.sign(delivery).headers
}

/// The headers of [`INHOUSE`], without the id.
pub(super) fn inhouse_headers(body: &[u8]) -> Vec<(String, String)> {
    let custom: hapax_verify::CustomScheme =
        toml::from_str("scheme = \"hmac-sha256\"\nheader = \"x-signature\"").unwrap();
    Signer::new(&custom.try_into().unwrap(), SECRET)
        .unwrap()
        .sign("", 0, "POST", "", body)
}
