//! Senders that are confirmed by calling a URL of theirs, such as SNS: one bounded GET, whose answer is thrown away.
//!
//! The preset has checked the host before, and no redirect is followed.

use bytes::Bytes;
use hapax_verify::Confirmation;
use http::Response;
use http_body_util::Full;

use super::keys::Outcome;
use super::{Inner, Source, handshake, refused};
use hapax_api::problem::Problem;

impl Inner {
    /// Calls the URL, and only then answers.
    pub(super) async fn confirm(
        &self,
        source: &Source,
        confirmation: Confirmation,
    ) -> Result<Response<Full<Bytes>>, Problem> {
        match self.keys.confirm(&source.name, &confirmation.url).await {
            Outcome::Known => {
                tracing::info!(source = %source.name, "the sender was confirmed");
                Ok(handshake::response(confirmation.answer))
            }
            Outcome::Unknown => Err(refused::confirmation_failed("its URL refused the call")),
            Outcome::Unavailable => Err(refused::confirmation_failed("its URL could not be called")),
        }
    }
}
