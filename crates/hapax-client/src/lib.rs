//! A small client of the admin API. Every error says where it happened and how to fix it.

mod error;
mod pages;
pub mod sse;
mod target;

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use error::Error;
pub use pages::Page;
pub use target::{BadUrl, Target};

use hapax_api::NOTE_HEADER;
use hapax_outbound::client as outbound;
use hapax_outbound::exchange::{self, Bounds};

const BOUNDS: Bounds = Bounds {
    // It exceeds the server's own limit, so that the server's error arrives.
    timeout: Duration::from_secs(75),
    answer_bytes_max: 256 * 1024 * 1024,
};

/// A client for one running service.
pub struct Client {
    target: Target,
    http: outbound::Client,
}

impl Client {
    /// Creates a client without connecting.
    ///
    /// # Errors
    /// If TLS cannot be set up.
    pub fn new(target: Target) -> Result<Self, Error> {
        let http = outbound::Client::of_operator(target.tls()).map_err(|message| Error::Setup { message })?;
        Ok(Self { target, http })
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
        let answered = self.http.head(request, BOUNDS.timeout).await;
        answered.map_err(|error| Error::from_call(self.target.shown(), error))
    }

    async fn read(&self, response: Response<Incoming>) -> Result<Bytes, Error> {
        let answered = exchange::read(response, BOUNDS).await;
        answered
            .map(Response::into_body)
            .map_err(|error| Error::from_call(self.target.shown(), error))
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
