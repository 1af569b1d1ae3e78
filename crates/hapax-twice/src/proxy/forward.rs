//! Forwards one request: reads it, sends it as often as requested, and returns the first response.

use bytes::Bytes;
use futures_util::future::join_all;
use http::header::{CONNECTION, CONTENT_LENGTH, HOST, TE, TRAILER, TRANSFER_ENCODING, UPGRADE};
use http::request::Parts;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;

use super::{Exchange, Proxy, Repeat};
use crate::client::{ANSWER_LIMIT, Failure};

const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Hop-by-hop headers; lengths and the host are set again.
const NOT_PASSED_ON: [http::HeaderName; 7] = [
    CONNECTION,
    CONTENT_LENGTH,
    HOST,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

type HandlerResponse = Result<Response<Bytes>, Failure>;

impl Proxy {
    /// Forwards a request. Only a POST is repeated, because events are delivered by POST.
    pub(super) async fn forward(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let (parts, body) = request.into_parts();
        let body = match Limited::new(body, BODY_BYTES_MAX).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) => {
                return plain(
                    StatusCode::BAD_REQUEST,
                    format!("the body cannot be read: {error}"),
                );
            }
        };
        if parts.method != Method::POST {
            return answer(self.once(&parts, &body).await);
        }
        let mut answers = self.repeat(&parts, &body).await;
        self.note(&Exchange {
            path: parts.uri.path().to_owned(),
            statuses: answers.iter().map(status).collect(),
        });
        answer(answers.swap_remove(0))
    }

    /// At least one response, the first one first.
    async fn repeat(&self, parts: &Parts, body: &Bytes) -> Vec<HandlerResponse> {
        match self.repeat {
            Repeat::Again => {
                let first = self.once(parts, body).await;
                vec![first, self.once(parts, body).await]
            }
            Repeat::Concurrent(times) => {
                let all = (0..times.max(1)).map(|_| self.once(parts, body));
                let mut answers = join_all(all).await;
                // Of simultaneous duplicates only one may be accepted; the client gets its response.
                answers
                    .sort_by_key(|answer| !answer.as_ref().is_ok_and(|answer| answer.status().is_success()));
                answers
            }
        }
    }

    async fn once(&self, parts: &Parts, body: &Bytes) -> HandlerResponse {
        let exchange = async {
            let mut connection = self.client.open().await.map_err(|answer| answer.to_string())?;
            let mut request = Request::new(Full::new(body.clone()).boxed_unsync());
            *request.method_mut() = parts.method.clone();
            *request.uri_mut() = self.client.path_of(&parts.uri).parse()?;
            *request.headers_mut() = passed_on(&parts.headers);
            connection.send(request).await
        };
        tokio::time::timeout(ANSWER_LIMIT, exchange)
            .await
            .unwrap_or_else(|_| Err(format!("no response within {ANSWER_LIMIT:?}").into()))
    }
}

fn passed_on(headers: &HeaderMap) -> HeaderMap {
    let mut headers = headers.clone();
    for name in &NOT_PASSED_ON {
        headers.remove(name);
    }
    headers
}

fn status(answer: &HandlerResponse) -> Option<u16> {
    answer.as_ref().ok().map(|answer| answer.status().as_u16())
}

fn answer(answer: HandlerResponse) -> Response<Full<Bytes>> {
    match answer {
        Ok(answer) => {
            let (mut parts, body) = answer.into_parts();
            parts.headers = passed_on(&parts.headers);
            Response::from_parts(parts, Full::new(body))
        }
        Err(error) => plain(
            StatusCode::BAD_GATEWAY,
            format!("the handler did not respond: {error}"),
        ),
    }
}

fn plain(status: StatusCode, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(text.into()));
    *response.status_mut() = status;
    response
}
