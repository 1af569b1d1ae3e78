//! The identity provider's discovery document.

use serde::Deserialize;

use crate::api_error::{ApiError, ApiResult};
use hapax_api::problem::Code;
use hapax_config::{Oidc, secure_url};

/// The fields of the provider's metadata that are used.
#[derive(Deserialize)]
pub(super) struct Metadata {
    issuer: String,
    pub(super) authorization_endpoint: String,
    pub(super) token_endpoint: String,
    #[serde(default)]
    pub(super) userinfo_endpoint: Option<String>,
    pub(super) jwks_uri: String,
    #[serde(default)]
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    pub(super) authorization_response_iss_parameter_supported: bool,
}

impl Metadata {
    /// Checks that this is the configured provider, and that nothing is sent to it unencrypted.
    pub(super) fn check(&self, oidc: &Oidc) -> ApiResult<()> {
        if self.issuer != oidc.issuer {
            return Err(ApiError::new(
                Code::IdentityProviderUnavailable,
                format!(
                    "the provider calls itself `{}`, and `server.oidc.issuer` is `{}`; they must be equal, including the \
                 trailing slash",
                    self.issuer, oidc.issuer
                ),
            ));
        }
        let mut endpoints = [&self.authorization_endpoint, &self.token_endpoint, &self.jwks_uri]
            .into_iter()
            .chain(&self.userinfo_endpoint);
        match endpoints.find_map(|endpoint| secure_url(endpoint).err()) {
            Some(why) => Err(ApiError::new(
                Code::IdentityProviderUnavailable,
                format!("the provider's discovery document contains a URL that is not allowed: {why}"),
            )),
            None => Ok(()),
        }
    }

    /// Whether the secret is sent in a header. Providers that list only other methods receive it in the form.
    pub(super) fn takes_basic(&self) -> bool {
        let methods = self.token_endpoint_auth_methods_supported.as_ref();
        methods.is_none_or(|methods| methods.iter().any(|method| method == "client_secret_basic"))
    }
}
