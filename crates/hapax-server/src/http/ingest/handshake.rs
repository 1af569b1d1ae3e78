//! Requests that are no delivery: a sender's handshake is answered as its preset says, anything else is 405.

use bytes::Bytes;
use hapax_core::Timestamp;
use hapax_verify::{HandshakeAnswer, Rejection, Verdict};
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;

use super::{Source, refused};
use crate::http::problem::Problem;

/// Answers GET, HEAD and OPTIONS where the source's preset has a handshake for them.
pub(super) fn answer<B>(
    source: &Source,
    request: &Request<B>,
    now: Timestamp,
) -> Result<Response<Full<Bytes>>, Problem> {
    let may_be_handshake = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    if !may_be_handshake {
        return Err(refused::method_not_allowed(request.method()));
    }
    let verdict = source.verifier.verify(
        &hapax_verify::Request::new(request.headers(), &[], now.as_seconds())
            .method(request.method().as_str())
            .url(&source.url(request.uri()))
            .query(request.uri().query().unwrap_or_default()),
    );
    match verdict {
        Ok(Verdict::Handshake(answer)) => Ok(response(answer)),
        Err(refusal @ Rejection::HandshakeRefused { .. }) => Err(refused::rejection(&refusal)),
        Ok(
            Verdict::Events(_) | Verdict::Registration(_) | Verdict::Confirmation(_) | Verdict::NeedsKey(_),
        )
        | Err(_) => Err(refused::method_not_allowed(request.method())),
    }
}

/// What the sender wants to see.
pub(super) fn response(answer: HandshakeAnswer) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(answer.body)));
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
    for (name, value) in answer.headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            response.headers_mut().append(name, value);
        }
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handshake_is_answered_as_the_preset_says() {
        let answer = response(HandshakeAnswer {
            status: 202,
            headers: vec![("content-type".to_owned(), "text/plain".to_owned())],
            body: b"challenge".to_vec(),
        });
        assert_eq!(answer.status(), 202);
        assert_eq!(answer.headers()["content-type"], "text/plain");
    }
}
