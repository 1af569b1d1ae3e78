//! Senders that are confirmed by calling a URL of theirs, such as SNS: one bounded GET, whose answer is thrown away.
//!
//! The preset has checked the host before; redirects are not followed, so that no answer leads elsewhere.

use std::time::Duration;

use bytes::Bytes;
use hapax_verify::Confirmation;
use http::{Request, Response};
use http_body_util::Full;

use super::{Inner, Source, handshake, refused};
use crate::http::problem::Problem;

/// How long the sender may take to answer; it waits for our own answer meanwhile.
const CONFIRM_TIMEOUT: Duration = Duration::from_secs(5);

impl Inner {
    /// Calls the URL, and only then answers.
    pub(super) async fn confirm(
        &self,
        source: &Source,
        confirmation: Confirmation,
    ) -> Result<Response<Full<Bytes>>, Problem> {
        let request = Request::get(&confirmation.url)
            .body(Full::default())
            .map_err(|_| refused::confirmation_failed("its URL cannot be called"))?;
        let called = tokio::time::timeout(CONFIRM_TIMEOUT, self.client.request(request)).await;
        match called {
            Ok(Ok(response)) if response.status().is_success() => {
                tracing::info!(source = %source.name, "the sender was confirmed");
                Ok(handshake::response(confirmation.answer))
            }
            Ok(Ok(response)) => Err(refused::confirmation_failed(&format!(
                "its URL answered {}",
                response.status().as_u16()
            ))),
            Ok(Err(_)) => Err(refused::confirmation_failed("its URL could not be reached")),
            Err(_) => Err(refused::confirmation_failed("its URL did not answer in time")),
        }
    }
}
