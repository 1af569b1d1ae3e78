//! Confirmations by calling a URL of the provider, such as for SNS: one bounded GET, whose response is discarded.
//!
//! The preset has already checked the host, and redirects are not followed.

use bytes::Bytes;
use hapax_verify::Confirmation;
use http::Response;
use http_body_util::Full;

use super::keys::Outcome;
use super::{Inner, Source, handshake, refused};
use hapax_api::problem::Problem;

impl Inner {
    /// Calls the URL, and only then responds.
    pub(super) async fn confirm(
        &self,
        source: &Source,
        confirmation: Confirmation,
    ) -> Result<Response<Full<Bytes>>, Problem> {
        match self.keys.confirm(&source.name, &confirmation.url).await {
            Outcome::Known => {
                tracing::info!(source = %source.name, "the subscription was confirmed");
                Ok(handshake::response(confirmation.answer))
            }
            Outcome::Unknown => Err(refused::confirmation_failed("its URL refused the call")),
            Outcome::Unavailable => Err(refused::confirmation_failed("its URL could not be called")),
        }
    }
}
