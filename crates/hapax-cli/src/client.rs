//! A small client for the admin API, shared by the operator verbs, and the way its answers are shown.
//!
//! Every error says where it happened and how to fix it; [`Error::into_cli`] maps it to an exit code.

mod error;
mod pages;
pub mod sse;
mod target;

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use error::Error;
pub use pages::Page;
pub use target::Target;

use crate::exit::CliError;
use crate::verbs::Globals;
use hapax_api::NOTE_HEADER;

/// Largest answer that is read.
const ANSWER_BYTES_MAX: usize = 256 * 1024 * 1024;
/// Longest wait for an answer. It exceeds the server's own limit, so that the server's error arrives.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(75);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A client for one running service.
pub struct Client {
    target: Target,
    http: hyper_util::client::legacy::Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

impl Client {
    /// Creates a client without connecting.
    ///
    /// # Errors
    /// If TLS cannot be set up.
    pub fn new(target: Target) -> Result<Self, Error> {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
        let tls = target
            .tls()
            .config()
            .map_err(|message| Error::Setup { message })?;
        let https = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(tcp);
        let http = hyper_util::client::legacy::Client::builder(TokioExecutor::new()).build(https);
        Ok(Self { target, http })
    }

    /// The client for the service that the flags, the environment and the configuration name.
    ///
    /// # Errors
    /// If they are invalid.
    pub fn from_globals(globals: &Globals) -> Result<Self, CliError> {
        Self::new(Target::from_globals(globals)?).map_err(Error::into_cli)
    }

    pub const fn target(&self) -> &Target {
        &self.target
    }

    /// Reads an API document; `path` is relative to `/api/v1/`.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        self.document(Method::GET, path, Bytes::new()).await
    }

    /// Reads an answer as raw bytes.
    pub async fn get_bytes(&self, path: &str) -> Result<Bytes, Error> {
        self.exchange(Method::GET, path, Bytes::new()).await
    }

    pub async fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, Error> {
        let body = serde_json::to_vec(body).map_err(|error| Error::Setup {
            message: error.to_string(),
        })?;
        self.document(Method::POST, path, Bytes::from(body)).await
    }

    pub async fn put<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, Error> {
        let body = serde_json::to_vec(body).map_err(|error| Error::Setup {
            message: error.to_string(),
        })?;
        self.document(Method::PUT, path, Bytes::from(body)).await
    }

    pub async fn delete<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        self.document(Method::DELETE, path, Bytes::new()).await
    }

    /// Opens a stream of server-sent events.
    pub async fn stream(&self, path: &str) -> Result<sse::Messages, Error> {
        let response = self
            .send(Method::GET, &self.target.api(path), Bytes::new())
            .await?;
        match response.status() {
            StatusCode::OK => Ok(sse::Messages::new(response.into_body(), self.target.shown())),
            status => Err(self.refusal(status, &self.read(response).await?)),
        }
    }

    /// Reads a document outside the API, such as `readyz`, with any status.
    pub async fn probe<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        let response = self
            .send(Method::GET, &self.target.root(path), Bytes::new())
            .await?;
        let body = self.read(response).await?;
        self.parse(&body)
    }

    async fn document<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<T, Error> {
        let body = self.exchange(method, path, body).await?;
        self.parse(&body)
    }

    async fn exchange(&self, method: Method, path: &str, body: Bytes) -> Result<Bytes, Error> {
        let response = self.send(method, &self.target.api(path), body).await?;
        let status = response.status();
        let body = self.read(response).await?;
        if status.is_success() {
            Ok(body)
        } else {
            Err(self.refusal(status, &body))
        }
    }

    async fn send(&self, method: Method, url: &str, body: Bytes) -> Result<Response<Incoming>, Error> {
        let setup = |error: http::Error| Error::Setup {
            message: error.to_string(),
        };
        let mut request = Request::builder()
            .method(method)
            .uri(url)
            .header(USER_AGENT, concat!("hapax/", env!("CARGO_PKG_VERSION")))
            .header(ACCEPT, "*/*")
            .header(NOTE_HEADER, self.target.note());
        if !body.is_empty() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        let mut request = request.body(Full::new(body)).map_err(setup)?;
        if let Some(token) = self.target.token() {
            let value = format!("Bearer {}", token.expose());
            let mut value = HeaderValue::try_from(value).map_err(|_| Error::TokenUnusable)?;
            value.set_sensitive(true);
            request.headers_mut().insert(AUTHORIZATION, value);
        }
        match tokio::time::timeout(ANSWER_TIMEOUT, self.http.request(request)).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) if error.is_connect() => Err(Error::Connect {
                url: self.target.shown(),
                source: Box::new(error),
            }),
            Ok(Err(error)) => Err(Error::Broken {
                url: self.target.shown(),
                source: Box::new(error),
            }),
            Err(_) => Err(Error::Timeout {
                url: self.target.shown(),
                seconds: ANSWER_TIMEOUT.as_secs(),
            }),
        }
    }

    async fn read(&self, response: Response<Incoming>) -> Result<Bytes, Error> {
        let read = Limited::new(response.into_body(), ANSWER_BYTES_MAX).collect();
        match tokio::time::timeout(ANSWER_TIMEOUT, read).await {
            Ok(Ok(body)) => Ok(body.to_bytes()),
            Ok(Err(source)) => Err(Error::Broken {
                url: self.target.shown(),
                source,
            }),
            Err(_) => Err(Error::Timeout {
                url: self.target.shown(),
                seconds: ANSWER_TIMEOUT.as_secs(),
            }),
        }
    }

    fn parse<T: DeserializeOwned>(&self, body: &[u8]) -> Result<T, Error> {
        serde_json::from_slice(body).map_err(|error| Error::Unexpected {
            url: self.target.shown(),
            message: error.to_string(),
        })
    }

    fn refusal(&self, status: StatusCode, body: &[u8]) -> Error {
        Error::from_answer(&self.target.shown(), status, body)
    }
}
