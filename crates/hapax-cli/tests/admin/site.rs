//! The fixture of every test: a service without ingest, on its own file and ports.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use bytes::Bytes;
use hapax_admin::{self as admin, Access, AdminState, Readiness, Settings};
use hapax_api::views::Phase;
use hapax_config::{self as config, Environment, Role, Token};
use hapax_core::{Clock as _, ErrorClass, EventId, Headers, Leased, Secret, SystemClock, SystemRandom};
use hapax_delivery::destination::routing;
use hapax_engine::{
    Accepted, AttemptResult, Engine, IncomingEvent, Limits, Parts, Reply, TokioRuntime, Transport,
};
use hapax_store_sqlite::{Options, SqliteStore};
use hapax_telemetry::{Metrics, Tracer, Watch};
use hapax_testkit::{Connection, HttpResponse, PATIENCE, eventually};
use http::Request;
use http_body_util::Full;
use parking_lot::Mutex;
use tokio::net::TcpListener;

/// The token of sites that have one.
pub(crate) const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// A token in addition to the admin token.
pub(crate) fn token(name: &str, value: &str, role: Role, sources: Option<&[&str]>) -> Token {
    Token {
        name: name.to_owned(),
        token: Secret::new(value),
        role,
        sources: sources.map(|names| names.iter().map(|name| (*name).into()).collect()),
    }
}

/// How every destination answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    /// Success.
    Willing,
    /// A permanent failure.
    Refusing,
    /// No answer for as long as the test runs.
    Silent,
}

struct Destination(Mutex<Mood>);

#[async_trait]
impl Transport for Destination {
    async fn deliver(&self, _: &Leased) -> AttemptResult {
        let mood = *self.0.lock();
        match mood {
            Mood::Willing => AttemptResult::done(200),
            Mood::Refusing => AttemptResult {
                reply: Reply::Refused {
                    class: ErrorClass::Refused,
                    message: "gone".to_owned(),
                },
                status: Some(410),
                excerpt: "go away".to_owned(),
            },
            Mood::Silent => std::future::pending().await,
        }
    }
}

/// A running admin port.
pub(crate) struct Site {
    pub(crate) engine: Engine,
    pub(crate) address: SocketAddr,
    pub(crate) readiness: Readiness,
    pub(crate) settings: Arc<ArcSwap<Settings>>,
    pub(crate) folder: tempfile::TempDir,
    pub(crate) store: Arc<SqliteStore>,
    destination: Arc<Destination>,
    token: Option<&'static str>,
}

/// Two sources that share a destination, and one whose scope differs from its name.
fn text(folder: &Path, token: Option<&str>) -> String {
    let token = token
        .map(|token| format!("admin_token = \"{token}\"\n"))
        .unwrap_or_default();
    format!(
        "[server]\n{token}\
         [store]\nurl = \"sqlite:{}\"\n\
         [sources.stripe]\nprovider = \"stripe\"\nsecrets = [\"whsec_test_secret\"]\ndeliver_to = [\"billing\"]\n\
         [sources.backup]\nprovider = \"stripe\"\nsecrets = [\"whsec_test_secret\"]\ndeliver_to = [\"billing\"]\n\
         [sources.payments]\nprovider = \"stripe\"\nsecrets = [\"whsec_test_secret\"]\ndeliver_to = []\nscope = \"money\"\n\
         [destinations.billing]\nid = \"billing-id\"\nkind = \"http\"\nurl = \"http://127.0.0.1:9/hook?token=x\"\n\
         [destinations.ledger]\nkind = \"http\"\nurl = \"http://127.0.0.1:9/\"\n",
        folder.join("hapax.db").display()
    )
}

impl Site {
    /// A site with a token.
    pub(crate) async fn start() -> Self {
        Self::start_with(Some(TOKEN)).await
    }

    /// A site with this token, or with none.
    pub(crate) async fn start_with(token: Option<&'static str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hapax.toml");
        std::fs::write(&path, text(folder.path(), token)).unwrap();
        let config = config::load(&path, &Environment::with([]), &[]).unwrap();
        let clock = Arc::new(SystemClock::default());
        let options = Options::new(clock.clone());
        let store = Arc::new(SqliteStore::open(&folder.path().join("hapax.db"), options).unwrap());
        let metrics = Arc::new(Metrics::new(clock.clone()));
        metrics.know(
            config
                .sources
                .values()
                .map(|source| (&source.name, source.ledger_window)),
            config.destinations.values().map(|destination| &destination.id),
        );
        let destination = Arc::new(Destination(Mutex::new(Mood::Willing)));
        let parts = Parts {
            store: store.clone(),
            clock: clock.clone(),
            random: Arc::new(SystemRandom::new()),
            runtime: Arc::new(TokioRuntime),
            transport: destination.clone(),
            observer: Arc::new(Watch::new(metrics.clone(), Tracer::default())),
        };
        // `forget` waits until cached entries expire; the default of ten seconds would prove nothing more.
        let limits = Limits {
            seen_for: Duration::from_millis(50),
            ..Limits::default()
        };
        let engine = Engine::start(parts, routing(&config), limits).await.unwrap();
        let settings = Arc::new(ArcSwap::from_pointee(Settings::from(&config)));
        let readiness = Readiness::default();
        readiness.enter(Phase::Serving);
        let state = AdminState::new(
            engine.clone(),
            settings.clone(),
            metrics,
            readiness.clone(),
            clock.now(),
        );
        let address = serve(state).await;
        Self {
            engine,
            address,
            readiness,
            settings,
            folder,
            store,
            destination,
            token,
        }
    }

    /// Changes the tokens that are accepted.
    pub(crate) fn admit(&self, admin_token: &str, tokens: Vec<Token>) {
        let mut settings = self.settings.load().as_ref().clone();
        settings.access = Access::new(Some(Secret::new(admin_token)), tokens, self.address);
        self.settings.store(Arc::new(settings));
    }

    /// Starts another process's admin port, with the same store and its own memory, and returns its address.
    pub(crate) async fn another_replica(&self) -> SocketAddr {
        let clock = Arc::new(SystemClock::default());
        let state = AdminState::new(
            self.engine.clone(),
            self.settings.clone(),
            Arc::new(Metrics::new(clock.clone())),
            self.readiness.clone(),
            clock.now(),
        );
        serve(state).await
    }

    pub(crate) fn mood(&self, mood: Mood) {
        *self.destination.0.lock() = mood;
    }

    /// Accepts one event from `stripe`.
    pub(crate) async fn accept(&self, event_id: &str) -> Accepted {
        self.accept_as("stripe", event_id, "{\"type\":\"invoice.paid\"}")
            .await
    }

    /// Accepts one event.
    pub(crate) async fn accept_as(&self, source: &str, event_id: &str, body: &'static str) -> Accepted {
        let headers: [(&str, &[u8]); 3] = [
            ("content-type", b"text/html"),
            ("cookie", b"session=1"),
            ("x-odd", b"\xff"),
        ];
        let incoming = IncomingEvent {
            source: source.into(),
            event_id: event_id.to_owned(),
            earlier_id: None,
            event_type: Some("invoice.paid".to_owned()),
            signed_at: None,
            secret_index: Some(0),
            received_at: SystemClock::default().now(),
            headers: Headers::pack(headers),
            body: Bytes::from_static(body.as_bytes()),
            content_hash: None,
            batch: None,
        };
        self.engine.accept(vec![incoming]).await.unwrap().remove(0)
    }

    /// Accepts one event without destinations, from `payments`.
    pub(crate) async fn accept_quietly(&self, event_id: String) {
        self.accept_as("payments", &event_id, "{}").await;
    }

    /// Accepts one event and waits until it has this status.
    pub(crate) async fn accept_until(&self, event_id: &str, status: &str) -> EventId {
        let id = self.accept(event_id).await.id();
        self.until(id, status).await;
        id
    }

    /// Waits until an event has this status.
    pub(crate) async fn until(&self, id: EventId, status: &str) {
        self.eventually(&format!("{id} is {status}"), async || {
            let view = self.get(&format!("events/{id}")).await;
            (view.json()["status"] == status).then_some(())
        })
        .await;
    }

    /// Polls until `look` finds something; on timeout, the panic names what was missing.
    pub(crate) async fn eventually<T>(&self, what: &str, look: impl AsyncFnMut() -> Option<T>) -> T {
        eventually(what, PATIENCE, look).await
    }

    pub(crate) async fn get(&self, path: &str) -> HttpResponse {
        self.api("GET", path, "").await
    }

    pub(crate) async fn post(&self, path: &str, body: impl ToString) -> HttpResponse {
        self.api("POST", path, &body.to_string()).await
    }

    pub(crate) async fn put(&self, path: &str, body: impl ToString) -> HttpResponse {
        self.api("PUT", path, &body.to_string()).await
    }

    pub(crate) async fn delete(&self, path: &str) -> HttpResponse {
        self.api("DELETE", path, "").await
    }

    async fn api(&self, method: &str, path: &str, body: &str) -> HttpResponse {
        let authorization = self.token.map(|token| format!("Bearer {token}"));
        let headers: Vec<_> = authorization
            .iter()
            .map(|value| ("authorization", value.as_str()))
            .collect();
        self.send(method, &format!("/api/v1/{path}"), &headers, body)
            .await
    }

    /// Sends one request exactly as given.
    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> HttpResponse {
        Self::send_to(self.address, method, path, headers, body).await
    }

    /// The same to another port.
    pub(crate) async fn send_to(
        address: SocketAddr,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> HttpResponse {
        let mut request = Request::builder().method(method).uri(path);
        if !headers.iter().any(|(name, _)| *name == "host") {
            request = request.header("host", address.to_string());
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = Full::new(Bytes::copy_from_slice(body.as_bytes()));
        let request = request.body(body).unwrap();
        Connection::to(address).send(request).await.unwrap()
    }
}

/// Serves the admin port of one replica, and returns its address.
async fn serve(state: AdminState) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = admin::router(state.clone(), hapax_dashboard::router(&state));
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}
