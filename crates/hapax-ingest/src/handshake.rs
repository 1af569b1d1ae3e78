//! Handshakes, which come before a provider delivers anything. The preset knows the response; some require a secret to
//! be stored first.

use bytes::Bytes;
use hapax_verify::{HandshakeAnswer, Registration};
use http::{HeaderName, HeaderValue, Response, StatusCode};
use http_body_util::Full;

use super::{Inner, Source, refused};
use crate::handover::NotTaken;
use hapax_api::problem::Problem;

impl Inner {
    /// Accepts the secret in a handshake. It is durable before the provider is answered.
    pub(super) async fn register(
        &self,
        source: &Source,
        registration: Registration,
    ) -> Result<Response<Full<Bytes>>, Problem> {
        let Some(handed) = &source.handed else {
            return Err(refused::not_taken(&NotTaken::NoRegistration));
        };
        let store = self.engine.store();
        handed
            .take(&**store, &registration.secret, self.clock.now())
            .await
            .map_err(|error| refused::not_taken(&error))?;
        tracing::info!(source = %source.name, "a secret was received in a handshake and stored");
        Ok(response(registration.answer))
    }
}

/// The response that the provider expects.
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
