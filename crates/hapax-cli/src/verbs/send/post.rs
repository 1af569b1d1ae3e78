//! One POST and its answer, over HTTP or HTTPS.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, Uri};
use http_body_util::Full;
use serde::Serialize;

use super::delivery::Signed;
use hapax_outbound::client::Client;
use hapax_outbound::exchange::Bounds;
use hapax_outbound::tls::Tls;

const BOUNDS: Bounds = Bounds {
    timeout: Duration::from_secs(30),
    answer_bytes_max: 1024 * 1024,
};

/// Sends to one URL. Clones share their connections.
#[derive(Clone)]
pub(super) struct Post {
    client: Client,
    url: Uri,
}

#[derive(Debug, Serialize)]
pub(super) struct SendResult {
    /// The HTTP status; `None` if there was no answer.
    status: Option<u16>,
    /// The body: parsed if it is JSON, otherwise a string.
    body: serde_json::Value,
    /// The body as received, for people.
    #[serde(skip)]
    text: String,
    /// Why there was no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl Post {
    pub(super) fn new(url: &Uri, tls: &Tls) -> anyhow::Result<Self> {
        Ok(Self {
            client: Client::of_operator(tls).map_err(anyhow::Error::msg)?,
            url: url.clone(),
        })
    }

    /// Sends a request. A failure is a result, too: the next request may succeed.
    pub(super) async fn send(&self, signed: &Signed) -> SendResult {
        match self.exchange(signed).await {
            Ok(answer) => SendResult::new(answer.status().as_u16(), answer.body()),
            Err(error) => SendResult::failed(format!("{error:#}")),
        }
    }

    async fn exchange(&self, signed: &Signed) -> anyhow::Result<Response<Bytes>> {
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(with_query(&self.url, &signed.query));
        for (name, value) in &signed.headers {
            request = request.header(name, value);
        }
        let request = request.body(Full::new(signed.body.clone()))?;
        Ok(self.client.exchange(request, BOUNDS).await?)
    }
}

/// The URL with the signer's query appended.
fn with_query(url: &Uri, added: &str) -> String {
    let url = url.to_string();
    match added.strip_prefix('?') {
        Some(rest) if url.contains('?') => format!("{url}&{rest}"),
        Some(_) | None => format!("{url}{added}"),
    }
}

impl SendResult {
    fn new(status: u16, body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(body).into_owned();
        let body = serde_json::from_slice(body).unwrap_or_else(|_| text.clone().into());
        Self {
            status: Some(status),
            body,
            text,
            error: None,
        }
    }

    pub(super) fn is_success(&self) -> bool {
        self.status.is_some_and(|status| (200..300).contains(&status))
    }

    /// `accepted`, `duplicate` …, the code of a problem, or the HTTP status.
    pub(super) fn result(&self) -> String {
        let word = ["status", "code"]
            .iter()
            .find_map(|key| self.body.get(key)?.as_str());
        match (word, self.status) {
            (Some(word), _) => word.to_owned(),
            (None, Some(status)) => status.to_string(),
            (None, None) => "no answer".to_owned(),
        }
    }

    fn failed(error: String) -> Self {
        Self {
            status: None,
            body: serde_json::Value::Null,
            text: String::new(),
            error: Some(error),
        }
    }
}

impl fmt::Display for SendResult {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.status, &self.error) {
            (Some(status), _) => write!(formatter, "{status} {}", self.text.trim_end()),
            (None, error) => write!(formatter, "no answer: {}", error.as_deref().unwrap_or("unknown")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_named_by_its_status_its_problem_or_its_number() {
        assert_eq!(
            SendResult::new(200, br#"{"status":"accepted"}"#).result(),
            "accepted"
        );
        assert_eq!(
            SendResult::new(401, br#"{"code":"signature_invalid","status":401}"#).result(),
            "signature_invalid"
        );
        assert_eq!(SendResult::new(502, b"<html>").result(), "502");
        assert_eq!(SendResult::failed("refused".to_owned()).result(), "no answer");
    }

    #[test]
    fn text_and_json_are_printed_as_they_are() {
        assert_eq!(
            SendResult::new(502, b"bad gateway\n").to_string(),
            "502 bad gateway"
        );
        assert_eq!(
            SendResult::new(200, br#"{"status":"accepted"}"#).to_string(),
            r#"200 {"status":"accepted"}"#
        );
    }

    #[tokio::test]
    async fn duplicates_are_sent_with_their_headers_and_answered_one_by_one() {
        let handler = |headers: http::HeaderMap, body: Bytes| async move {
            assert_eq!((headers["x-one"].as_bytes(), &body[..]), (&b"1"[..], &b"{}"[..]));
            r#"{"status":"accepted"}"#
        };
        let router = axum::Router::new().route("/in/x", axum::routing::post(handler));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/in/x", listener.local_addr().unwrap())
            .parse()
            .unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await });
        let post = Post::new(&url, &Tls::default()).unwrap();
        let signed = Signed {
            query: String::new(),
            headers: vec![("x-one".to_owned(), "1".to_owned())],
            body: Bytes::from_static(b"{}"),
        };
        for _ in 0..2 {
            let answer = post.send(&signed).await;
            assert!(answer.is_success(), "{answer}");
        }
    }

    #[tokio::test]
    async fn a_service_that_is_not_there_is_no_success() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap())
            .parse()
            .unwrap();
        drop(listener);
        let answer = Post::new(&url, &Tls::default())
            .unwrap()
            .send(&Signed {
                query: String::new(),
                headers: vec![],
                body: Bytes::new(),
            })
            .await;
        assert!(!answer.is_success());
        assert!(answer.to_string().starts_with("no answer"));
    }
}
