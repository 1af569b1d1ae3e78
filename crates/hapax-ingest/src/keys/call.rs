//! One call for a key: the hosts that may be called, the authorities that may certify them, and the limits on the size
//! and duration of a response. Redirects are not followed.

use std::time::Duration;

use bytes::Bytes;
use hapax_verify::{KeyRequest, Question};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::Full;
use rustls::RootCertStore;

use super::Outcome;
use hapax_config::KeyServer;
use hapax_outbound::client::{Client, TlsError};
use hapax_outbound::exchange::{Bounds, CallError};
use hapax_outbound::lookup::Lookup;

const BOUNDS: Bounds = Bounds {
    // Including connecting; shorter than the shortest timeout of these providers.
    timeout: Duration::from_secs(4),
    answer_bytes_max: 64 * 1024,
};
/// Plaid's error code for an unknown key id.
const PLAID_UNKNOWN_KEY: &str = "INVALID_WEBHOOK_VERIFICATION_KEY_ID";

/// Calls the providers' servers.
pub(super) struct Caller {
    amazon: Client,
    paypal: Client,
    others: Client,
    server: Option<(KeyServer, Client)>,
}

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum FetchError {
    #[error("keys are not fetched from its host")]
    Host,
    #[error("the provider's server has no such key")]
    Unknown,
    #[error("the call to the provider's server failed: {0}")]
    Call(#[from] CallError),
    #[error("the provider's server did not accept the credentials")]
    Credentials,
    #[error("the provider's server answered {0}")]
    Status(StatusCode),
    #[error("the response is not a key")]
    NotAKey,
}

impl FetchError {
    pub(super) const fn outcome(&self) -> Outcome {
        match self {
            Self::Unknown => Outcome::Unknown,
            Self::Host | Self::Call(_) | Self::Credentials | Self::Status(_) | Self::NotAKey => {
                Outcome::Unavailable
            }
        }
    }
}

impl Caller {
    pub(super) fn new(lookup: &Lookup, server: Option<KeyServer>) -> Result<Self, TlsError> {
        let client = |names: &[&str]| Client::with_roots(lookup.clone(), roots(names));
        let server = match server {
            Some(server) => Some((server, Client::new(lookup.clone())?)),
            None => None,
        };
        Ok(Self {
            amazon: client(&["Amazon", "Starfield"])?,
            paypal: client(&["DigiCert"])?,
            others: client(&[""])?,
            server,
        })
    }

    /// Fetches a key. Any other response is a failure and is not cached: an overloaded server's error page must not be
    /// mistaken for a key.
    pub(super) async fn key(&self, request: &KeyRequest) -> Result<Vec<u8>, FetchError> {
        let bytes = self.call(&request.url, request.question.as_deref()).await?;
        let is_json = || serde_json::from_slice::<serde_json::Value>(&bytes).is_ok();
        let is_whole = request.question.is_none() || is_json();
        if is_whole && contains(&bytes, request.expects.as_bytes()) {
            Ok(bytes.to_vec())
        } else {
            Err(FetchError::NotAKey)
        }
    }

    /// The response to a GET, or to a POST if there is a question.
    pub(super) async fn call(&self, url: &str, question: Option<&Question>) -> Result<Bytes, FetchError> {
        let uri: Uri = url.parse().map_err(|_| FetchError::Host)?;
        let client = self.client_for(&uri).ok_or(FetchError::Host)?;
        let (uri, client) = match &self.server {
            Some((server, client)) => (server.instead_of(&uri).ok_or(FetchError::Host)?, client),
            None => (uri, client),
        };
        let answer = client.exchange(request(uri, question)?, BOUNDS).await?;
        key_in(answer)
    }

    /// The client with the authorities that may certify a host; `None` for a host that must not be called.
    fn client_for(&self, uri: &Uri) -> Option<&Client> {
        let plain = uri.scheme_str() == Some("https") && uri.authority()?.as_str() == uri.host()?;
        if !plain {
            return None;
        }
        let host = uri.host()?;
        let is_sns = |suffix: &str| {
            let region = host
                .strip_prefix("sns.")
                .and_then(|rest| rest.strip_suffix(suffix));
            region.is_some_and(|region| !region.is_empty() && !region.contains('.'))
        };
        match host {
            _ if is_sns(".amazonaws.com") => Some(&self.amazon),
            _ if is_sns(".amazonaws.com.cn") => Some(&self.others),
            _ if host.ends_with(".paypal.com") => Some(&self.paypal),
            "production.plaid.com" | "sandbox.plaid.com" | "development.plaid.com" => Some(&self.others),
            _ => None,
        }
    }
}

fn key_in(answer: Response<Bytes>) -> Result<Bytes, FetchError> {
    let (head, body) = answer.into_parts();
    match head.status {
        status if status.is_success() => Ok(body),
        StatusCode::NOT_FOUND | StatusCode::GONE => Err(FetchError::Unknown),
        StatusCode::BAD_REQUEST if contains(&body, PLAID_UNKNOWN_KEY.as_bytes()) => Err(FetchError::Unknown),
        StatusCode::UNAUTHORIZED => Err(FetchError::Credentials),
        status => Err(FetchError::Status(status)),
    }
}

fn request(uri: Uri, question: Option<&Question>) -> Result<Request<Full<Bytes>>, FetchError> {
    let mut request = Request::new(Full::default());
    *request.uri_mut() = uri;
    request
        .headers_mut()
        .insert(ACCEPT, HeaderValue::from_static("*/*"));
    let Some(question) = question else {
        return Ok(request);
    };
    *request.method_mut() = Method::POST;
    let content_type = HeaderValue::from_static(question.content_type);
    request.headers_mut().insert(CONTENT_TYPE, content_type);
    if let Some(authorization) = &question.authorization {
        let mut value = HeaderValue::try_from(authorization).map_err(|_| FetchError::Credentials)?;
        value.set_sensitive(true);
        request.headers_mut().insert(AUTHORIZATION, value);
    }
    *request.body_mut() = Full::new(Bytes::from(question.body.clone()));
    Ok(request)
}

/// The authorities whose name contains one of these words; the empty word matches every name.
fn roots(names: &[&str]) -> RootCertStore {
    let all = webpki_roots::TLS_SERVER_ROOTS.iter();
    let wanted = all.filter(|root| names.iter().any(|name| contains(&root.subject, name.as_bytes())));
    wanted.cloned().collect()
}

fn contains(bytes: &[u8], word: &[u8]) -> bool {
    word.is_empty() || bytes.windows(word.len()).any(|window| window == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hosts_of_known_providers_are_called() {
        let caller = Caller::new(&Lookup::system(), None).unwrap();
        let is_reached = |url: &str| caller.client_for(&url.parse().unwrap()).is_some();
        for url in [
            "https://sns.us-east-1.amazonaws.com/a.pem",
            "https://sns.cn-north-1.amazonaws.com.cn/a.pem",
            "https://api.sandbox.paypal.com/v1/notifications/certs/CERT-1",
            "https://api-m.paypal.com/v1/notifications/verify-webhook-signature",
            "https://production.plaid.com/webhook_verification_key/get",
        ] {
            assert!(is_reached(url), "{url}");
        }
        for url in [
            "http://sns.us-east-1.amazonaws.com/a.pem",
            "https://sns.us-east-1.amazonaws.com:8443/a.pem",
            "https://user@sns.us-east-1.amazonaws.com/a.pem",
            "https://sns.amazonaws.com.s3.amazonaws.com/a.pem",
            "https://s3.us-east-1.amazonaws.com/a.pem",
            "https://evilpaypal.com/a",
            "https://evil.plaid.com/a",
            "https://127.0.0.1/a.pem",
            "https://169.254.169.254/a.pem",
        ] {
            assert!(!is_reached(url), "{url}");
        }
    }

    #[test]
    fn few_authorities_vouch_for_a_provider() {
        let (amazon, paypal, all) = (
            roots(&["Amazon", "Starfield"]),
            roots(&["DigiCert"]),
            roots(&[""]),
        );
        assert!(!amazon.is_empty() && !paypal.is_empty());
        assert!(amazon.len() < all.len() / 4 && paypal.len() < all.len() / 4);
    }
}
