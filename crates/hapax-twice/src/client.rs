//! A small HTTP client: one connection per delivery, so that it can be dropped at any moment.
//!
//! A pool of connections cannot do that, and a published crate must not depend on the service's client.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::header::{CONTENT_LENGTH, HOST};
use http::{HeaderValue, Method, Request, Response, Uri};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, Limited, StreamBody};
use hyper::body::Frame;
use hyper::client::conn::http1;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use serde::Serialize;
use tokio::sync::Barrier;
use tokio::task::JoinSet;
use tower_service::Service as _;

use crate::sender::Signed;

/// How long to wait for a handler's response.
pub(crate) const ANSWER_LIMIT: Duration = Duration::from_secs(30);
/// How long duplicates that should arrive together wait for each other.
const GATE_LIMIT: Duration = Duration::from_secs(2);
const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The maximum length of a response excerpt.
const EXCERPT_CHARACTERS_MAX: usize = 200;

pub(crate) type Body = UnsyncBoxBody<Bytes, Infallible>;
pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Sends requests to one URL.
#[derive(Clone)]
pub(crate) struct Client {
    connector: HttpsConnector<HttpConnector>,
    url: Uri,
}

/// An open connection that has not sent anything yet. It closes when it is dropped.
pub(crate) struct Connection {
    sender: http1::SendRequest<Body>,
    /// Aborted with the connection, which closes the socket.
    _driver: JoinSet<()>,
    url: Uri,
}

/// The handler's response.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct HandlerResponse {
    /// The HTTP status; `None` if there was no response.
    pub(crate) status: Option<u16>,
    /// The beginning of the body, or why there was no response.
    pub(crate) text: String,
    #[serde(skip)]
    pub(crate) took: Duration,
}

impl Client {
    pub(crate) fn new(url: Uri) -> Result<Self, rustls::Error> {
        let connector = HttpsConnectorBuilder::new()
            .with_provider_and_webpki_roots(rustls::crypto::aws_lc_rs::default_provider())?
            .https_or_http()
            .enable_http1()
            .build();
        Ok(Self { connector, url })
    }

    /// Opens a connection.
    pub(crate) async fn open(&self) -> Result<Connection, HandlerResponse> {
        let connect = tokio::time::timeout(ANSWER_LIMIT, self.connect()).await;
        match connect {
            Ok(Ok(connection)) => Ok(connection),
            Ok(Err(error)) => Err(HandlerResponse::none(&error)),
            Err(_) => Err(HandlerResponse::late()),
        }
    }

    /// Sends a delivery on a new connection. A failure counts as a response, too.
    pub(crate) async fn send(&self, signed: Signed) -> HandlerResponse {
        match self.open().await {
            Ok(connection) => connection.exchange(signed).await,
            Err(answer) => answer,
        }
    }

    /// The path of a request, appended to the path of this client's own URL.
    pub(crate) fn path_of(&self, uri: &Uri) -> String {
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        format!("{}{path}", self.url.path().trim_end_matches('/'))
    }

    async fn connect(&self) -> Result<Connection, Failure> {
        let stream = self.connector.clone().call(self.url.clone()).await?;
        let (sender, driver) = http1::handshake(stream).await?;
        let mut drivers = JoinSet::new();
        drivers.spawn(async move {
            // The task that waits for the response receives the error.
            let _ = driver.await;
        });
        Ok(Connection {
            sender,
            _driver: drivers,
            url: self.url.clone(),
        })
    }
}

impl Connection {
    /// Sends a delivery and reads the response.
    pub(crate) async fn exchange(self, signed: Signed) -> HandlerResponse {
        let body = Full::new(signed.body.clone()).boxed_unsync();
        self.within_limit(signed, body).await
    }

    /// The same, but sends the last byte only when all other deliveries have reached it, too.
    pub(crate) async fn exchange_together(self, signed: Signed, gate: Arc<Barrier>) -> HandlerResponse {
        let mut first = signed.body.clone();
        let last = first.split_off(first.len().saturating_sub(1));
        let wait = async move {
            // A delivery that is stuck must not hold up the others for long.
            let _ = tokio::time::timeout(GATE_LIMIT, gate.wait()).await;
            last
        };
        let chunks = stream::iter([first]).chain(stream::once(wait));
        let body = StreamBody::new(chunks.map(|chunk| Ok(Frame::data(chunk)))).boxed_unsync();
        self.within_limit(signed, body).await
    }

    async fn within_limit(mut self, signed: Signed, body: Body) -> HandlerResponse {
        let start = Instant::now();
        let answer = tokio::time::timeout(ANSWER_LIMIT, self.request(signed, body)).await;
        let mut answer = match answer {
            Ok(Ok(response)) => HandlerResponse::new(response.status().as_u16(), response.body()),
            Ok(Err(error)) => HandlerResponse::none(&error),
            Err(_) => HandlerResponse::late(),
        };
        answer.took = start.elapsed();
        answer
    }

    async fn request(&mut self, signed: Signed, body: Body) -> Result<Response<Bytes>, Failure> {
        let path = self.url.path_and_query().map_or("/", |path| path.as_str());
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(format!("{path}{}", signed.query))
            .header(CONTENT_LENGTH, signed.body.len());
        for (name, value) in &signed.headers {
            request = request.header(name, value);
        }
        self.send(request.body(body)?).await
    }

    /// Sends any request, with a path as its URI, and reads the response.
    pub(crate) async fn send(&mut self, mut request: Request<Body>) -> Result<Response<Bytes>, Failure> {
        let host = self.url.authority().map_or("", |authority| authority.as_str());
        request.headers_mut().insert(HOST, HeaderValue::from_str(host)?);
        let (parts, body) = self.sender.send_request(request).await?.into_parts();
        let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await?.to_bytes();
        Ok(Response::from_parts(parts, body))
    }
}

impl HandlerResponse {
    fn new(status: u16, body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(body);
        let visible = text.trim().chars().filter(|character| !character.is_control());
        Self {
            status: Some(status),
            text: visible.take(EXCERPT_CHARACTERS_MAX).collect(),
            took: Duration::ZERO,
        }
    }

    fn none(error: &Failure) -> Self {
        let causes = std::iter::successors(error.source(), |cause| cause.source());
        let text = causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"));
        Self {
            status: None,
            text,
            took: Duration::ZERO,
        }
    }

    fn late() -> Self {
        Self {
            status: None,
            text: format!("timed out after {ANSWER_LIMIT:?}"),
            took: ANSWER_LIMIT,
        }
    }

    /// Whether the status is 2xx.
    pub(crate) fn is_success(&self) -> bool {
        self.status.is_some_and(|status| (200..300).contains(&status))
    }
}

impl std::fmt::Display for HandlerResponse {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.status {
            Some(status) if self.text.is_empty() => write!(formatter, "{status}"),
            Some(status) => write!(formatter, "{status} {}", self.text),
            None => write!(formatter, "no response ({})", self.text),
        }
    }
}
