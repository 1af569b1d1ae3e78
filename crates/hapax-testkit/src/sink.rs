//! A destination: a real HTTP server that records every request and answers as the test decides.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::{Gate, PATIENCE, within};

#[derive(Clone, Debug)]
pub struct Received {
    /// With its query.
    pub path: String,
    pub headers: HeaderMap,
    pub body: Bytes,
    pub at: Instant,
    pub key: String,
    pub event_id: String,
    /// How often this key has arrived, including this time.
    pub nth: usize,
}

impl Received {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

/// The sink's reaction to a request.
pub enum Reply {
    Status(u16),
    Response(Response<Full<Bytes>>),
    /// Works for this long, then answers.
    Slow(Duration, u16),
    /// Works until the gate opens, then answers.
    Behind(Gate, u16),
    Hang,
    /// Applies the effect, and closes the connection before it can answer.
    DropAfterApplying,
    /// Applies the effect, and answers with a status that says otherwise.
    LieAfterApplying(u16),
}

impl Reply {
    pub fn with(status: u16, headers: &[(&'static str, &str)]) -> Self {
        let mut response = plain(status);
        for (name, value) in headers {
            response.headers_mut().insert(*name, value.parse().unwrap());
        }
        Self::Response(response)
    }

    pub fn body(status: u16, body: impl Into<Bytes>) -> Self {
        Self::Response(plain(status).map(|_| Full::new(body.into())))
    }
}

type Behaviour = dyn Fn(&Received) -> Reply + Send + Sync;

/// The server. It stops when dropped.
pub struct Sink {
    pub address: SocketAddr,
    shared: Arc<Shared>,
    changes: watch::Receiver<usize>,
    server: JoinHandle<()>,
    /// How many requests `next` and `rest` have returned.
    read: usize,
}

struct Shared {
    behaviour: Mutex<Arc<Behaviour>>,
    state: Mutex<State>,
    changed: watch::Sender<usize>,
}

#[derive(Default)]
struct State {
    received: Vec<Received>,
    /// How often each key has arrived.
    times: HashMap<String, usize>,
    /// Keys in the order in which they took effect; a doubled effect is listed twice.
    applied: Vec<(String, String)>,
    running: usize,
    running_max: usize,
}

impl Sink {
    /// Applies everything immediately.
    pub async fn start() -> Self {
        Self::that(|_| Reply::Status(200)).await
    }

    /// Uses this behaviour.
    pub async fn that(behaviour: impl Fn(&Received) -> Reply + Send + Sync + 'static) -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").await.unwrap(), behaviour)
    }

    /// Reacts in this way to the first request of each event, and applies the next.
    pub async fn that_first(first: impl Fn() -> Reply + Send + Sync + 'static) -> Self {
        Self::that(move |received| match received.nth {
            1 => first(),
            _ => Reply::Status(200),
        })
        .await
    }

    /// Answers with these responses.
    pub async fn answering(
        answer: impl Fn(&Received) -> Response<Full<Bytes>> + Send + Sync + 'static,
    ) -> Self {
        Self::that(move |received| Reply::Response(answer(received))).await
    }

    /// Applies everything, at an address that belonged to another sink before.
    pub async fn at(address: SocketAddr) -> Self {
        Self::on(TcpListener::bind(address).await.unwrap(), |_| Reply::Status(200))
    }

    fn on(listener: TcpListener, behaviour: impl Fn(&Received) -> Reply + Send + Sync + 'static) -> Self {
        let address = listener.local_addr().unwrap();
        let (news, changes) = watch::channel(0);
        let behaviour: Arc<Behaviour> = Arc::new(behaviour);
        let shared = Arc::new(Shared {
            behaviour: Mutex::new(behaviour),
            state: Mutex::default(),
            changed: news,
        });
        let server = tokio::spawn(serve(listener, Arc::clone(&shared)));
        Self {
            address,
            shared,
            changes,
            server,
            read: 0,
        }
    }

    /// Uses another behaviour from the next request on.
    pub fn behave(&self, behaviour: impl Fn(&Received) -> Reply + Send + Sync + 'static) {
        *self.shared.behaviour.lock() = Arc::new(behaviour);
    }

    pub fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    /// Every request so far.
    pub fn received(&self) -> Vec<Received> {
        self.shared.state.lock().received.clone()
    }

    /// Waits for the next request that was not read yet.
    pub async fn next(&mut self) -> Received {
        self.until_received(self.read + 1, PATIENCE).await;
        self.read += 1;
        self.shared.state.lock().received[self.read - 1].clone()
    }

    /// All requests that were not read yet.
    pub fn rest(&mut self) -> Vec<Received> {
        let rest = self.shared.state.lock().received[self.read..].to_vec();
        self.read += rest.len();
        rest
    }

    /// Every request for one event, in order of arrival.
    pub fn received_for(&self, event_id: &str) -> Vec<Received> {
        self.received()
            .into_iter()
            .filter(|one| one.event_id == event_id)
            .collect()
    }

    /// The effects that a receiver which respects the key has applied, each once.
    pub fn effects(&self) -> BTreeSet<String> {
        self.shared
            .state
            .lock()
            .applied
            .iter()
            .map(|(key, _)| key.clone())
            .collect()
    }

    /// The ids of the events that took effect.
    pub fn events_applied(&self) -> BTreeSet<String> {
        self.order_applied().into_iter().collect()
    }

    /// The number of requests that were applied, including repeated ones.
    pub fn applications(&self) -> usize {
        self.shared.state.lock().applied.len()
    }

    /// The event ids in the order in which they took effect.
    pub fn order_applied(&self) -> Vec<String> {
        self.shared
            .state
            .lock()
            .applied
            .iter()
            .map(|(_, event_id)| event_id.clone())
            .collect()
    }

    /// The most requests ever in progress at once.
    pub fn running_max(&self) -> usize {
        self.shared.state.lock().running_max
    }

    /// Every key that an event arrived with. More than one is a broken promise.
    pub fn keys_by_event(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut keys: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for one in self.received() {
            keys.entry(one.event_id).or_default().insert(one.key);
        }
        keys
    }

    #[track_caller]
    pub fn assert_one_key_for_each_event(&self) {
        for (event_id, keys) in self.keys_by_event() {
            assert_eq!(keys.len(), 1, "{event_id} showed several keys: {keys:?}");
        }
    }

    /// Waits until the sink satisfies the condition.
    pub async fn until(&self, what: &str, limit: Duration, is_there: impl Fn(&Self) -> bool) {
        let mut changes = self.changes.clone();
        let seen = || {
            format!(
                "{what} (received {}, applied {})",
                self.received().len(),
                self.applications()
            )
        };
        let waiting = async {
            while !is_there(self) {
                changes.changed().await.unwrap();
            }
        };
        let waited = tokio::time::timeout(limit, waiting).await;
        assert!(waited.is_ok(), "in {limit:?} it never came true: {}", seen());
    }

    /// Waits for this many requests.
    pub async fn until_received(&self, count: usize, limit: Duration) {
        self.until(&format!("{count} requests"), limit, |sink| {
            sink.received().len() >= count
        })
        .await;
    }

    /// Waits for this many effects.
    pub async fn until_effects(&self, count: usize, limit: Duration) {
        self.until(&format!("{count} effects"), limit, |sink| {
            sink.effects().len() >= count
        })
        .await;
    }

    /// Stops listening: a destination that is down.
    pub async fn stop(mut self) -> SocketAddr {
        self.server.abort();
        // It ends as cancelled, as intended.
        let _ = within("the sink stops", Duration::from_secs(5), &mut self.server).await;
        self.address
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = tokio::task::JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                connections.spawn(connection(stream, Arc::clone(&shared)));
            }
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
        }
    }
}

async fn connection(stream: TcpStream, shared: Arc<Shared>) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| handle(request, Arc::clone(&shared)));
    // How a connection ends is part of what the tests do to it.
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

async fn handle(request: Request<Incoming>, shared: Arc<Shared>) -> anyhow::Result<Response<Full<Bytes>>> {
    let (head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let text = |name: &str| {
        head.headers
            .get(name)
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
            .unwrap_or_default()
    };
    let (key, event_id) = (text("idempotency-key"), text("hapax-event-id"));
    let received = shared.number(Received {
        path: head.uri.to_string(),
        headers: head.headers,
        body,
        at: Instant::now(),
        key,
        event_id,
        nth: 0,
    });
    let _running = Running::begin(&shared);
    let behaviour = Arc::clone(&shared.behaviour.lock());
    let reply = behaviour(&received);
    // Not before: a test that has seen a request may change how the next one is answered.
    shared.show(&received);
    let response = match reply {
        Reply::Response(response) => response,
        Reply::Status(status) => plain(status),
        Reply::Slow(work, status) => {
            tokio::time::sleep(work).await;
            plain(status)
        }
        Reply::Behind(gate, status) => {
            gate.pass().await;
            plain(status)
        }
        Reply::Hang => std::future::pending().await,
        Reply::DropAfterApplying => {
            shared.apply(&received);
            anyhow::bail!("the connection is dropped")
        }
        Reply::LieAfterApplying(status) => {
            shared.apply(&received);
            plain(status)
        }
    };
    if response.status().is_success() {
        shared.apply(&received);
    }
    Ok(response)
}

fn plain(status: u16) -> Response<Full<Bytes>> {
    Response::builder()
        .status(status)
        .body(Full::from("sink"))
        .unwrap()
}

impl Shared {
    fn number(&self, mut received: Received) -> Received {
        let mut state = self.state.lock();
        let times = state.times.entry(received.key.clone()).or_default();
        *times += 1;
        received.nth = *times;
        received
    }

    fn show(&self, received: &Received) {
        self.state.lock().received.push(received.clone());
        self.changed.send_modify(|count| *count += 1);
    }

    fn apply(&self, received: &Received) {
        self.state
            .lock()
            .applied
            .push((received.key.clone(), received.event_id.clone()));
        self.changed.send_modify(|count| *count += 1);
    }
}

/// Counts a request as in progress, also when the client hangs up on it.
struct Running<'a>(&'a Shared);

impl<'a> Running<'a> {
    fn begin(shared: &'a Shared) -> Self {
        let mut state = shared.state.lock();
        state.running += 1;
        state.running_max = state.running_max.max(state.running);
        Self(shared)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.state.lock().running -= 1;
    }
}
