//! Parses the fields of submitted forms.

use axum::extract::{FromRequest, Request};
use bytes::Bytes;

use hapax_admin::AdminState;
use hapax_admin::api_error::ApiError;

/// Maximum size of a form.
pub(super) const FORM_BYTES_MAX: usize = 64 * 1024;
/// The field with the CSRF token.
pub(super) const CSRF_FIELD: &str = "csrf";

/// The submitted fields of a form.
#[derive(Debug)]
pub(crate) struct Fields(Vec<(String, String)>);

impl Fields {
    /// The value of a field; `None` if it was not sent.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(field, _)| field == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The value of a field without surrounding white space; `None` if it is empty.
    pub(crate) fn filled(&self, name: &str) -> Option<&str> {
        self.get(name).map(str::trim).filter(|value| !value.is_empty())
    }
}

impl FromRequest<AdminState> for Fields {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &AdminState) -> Result<Self, ApiError> {
        let body = Bytes::from_request(request, state)
            .await
            .map_err(|_| ApiError::body_too_large(FORM_BYTES_MAX))?;
        let pairs = form_urlencoded::parse(&body);
        Ok(Self(pairs.into_owned().collect()))
    }
}
