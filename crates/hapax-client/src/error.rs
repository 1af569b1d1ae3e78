//! Errors between a client and the service, worded so that they say what to do.

use http::StatusCode;
use serde::Deserialize;

use hapax_api::problem::Code;
use hapax_outbound::exchange::CallError;

type Source = Box<dyn std::error::Error + Send + Sync>;

/// Why a request to the service failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing listens at the URL.
    #[error(
        "cannot connect to the admin API at {url}; is `hapax serve` running there, and with TLS as that URL says? (set \
         another address with --admin or HAPAX_ADMIN_URL, and the certificate authority with --cacert)"
    )]
    Connect {
        url: String,
        #[source]
        source: Source,
    },
    /// The connection broke during the exchange.
    #[error(
        "the connection to {url} closed before the response was complete; retry, and check the service's log if it \
         happens again"
    )]
    Broken {
        url: String,
        #[source]
        source: Source,
    },
    #[error("{url} did not answer within {seconds} s; check the service's log, and run `hapax doctor`")]
    Timeout { url: String, seconds: u64 },
    /// The token is missing or wrong.
    #[error(
        "{url} refuses the token: {detail}; set HAPAX_ADMIN_TOKEN or --token to the service's server.admin_token"
    )]
    Unauthorized {
        url: String,
        /// The service's explanation.
        detail: String,
    },
    /// The requested object does not exist.
    #[error("{detail}")]
    NotFound {
        /// The service's explanation.
        detail: String,
    },
    /// The service refused the request.
    #[error("{detail} ({code}; `hapax explain {code}` says more)")]
    Refused {
        /// The stable problem code.
        code: String,
        /// The service's explanation.
        detail: String,
    },
    /// Something answered, and it is not Hapax.
    #[error(
        "the server at {url} is not this version of Hapax: {message}; set another address with --admin or \
         HAPAX_ADMIN_URL"
    )]
    Unexpected { url: String, message: String },
    /// The token contains characters that an HTTP header cannot carry.
    #[error(
        "the token contains characters that are not allowed in an HTTP header; check HAPAX_ADMIN_TOKEN for a line break"
    )]
    TokenUnusable,
    /// The request could not be made.
    #[error("the request cannot be built: {message}")]
    Setup { message: String },
}

#[derive(Deserialize)]
struct Problem {
    code: String,
    detail: String,
}

impl Error {
    pub(crate) fn from_call(url: String, error: CallError) -> Self {
        match error {
            CallError::Timeout(limit) => Self::Timeout {
                url,
                seconds: limit.as_secs(),
            },
            CallError::Connect(error) => Self::Connect {
                url,
                source: Box::new(error),
            },
            CallError::Broken(error) => Self::Broken {
                url,
                source: Box::new(error),
            },
            CallError::Answer { source, .. } => Self::Broken { url, source },
        }
    }

    pub(crate) fn from_answer(url: &str, status: StatusCode, body: &[u8]) -> Self {
        let url = url.to_owned();
        let Ok(Problem { code, detail }) = serde_json::from_slice(body) else {
            return Self::Unexpected {
                url,
                message: format!("it answered {status}"),
            };
        };
        match status {
            StatusCode::UNAUTHORIZED => Self::Unauthorized { url, detail },
            // A path that the service does not have means another version, not a missing event.
            StatusCode::NOT_FOUND if code == Code::UnknownPath.as_str() => {
                Self::Unexpected { url, message: detail }
            }
            StatusCode::NOT_FOUND => Self::NotFound { detail },
            _ => Self::Refused { code, detail },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: StatusCode, body: &str) -> Error {
        Error::from_answer("http://127.0.0.1:8081", status, body.as_bytes())
    }

    #[test]
    fn a_problem_is_told_in_the_services_own_words() {
        let gone = answer(
            StatusCode::NOT_FOUND,
            r#"{"code":"event_not_found","detail":"there is no event 1"}"#,
        );
        assert_eq!(gone.to_string(), "there is no event 1");
        assert!(matches!(gone, Error::NotFound { .. }), "{gone:?}");
        let refused = answer(
            StatusCode::CONFLICT,
            r#"{"code":"deliveries_unfinished","detail":"not yet"}"#,
        );
        assert_eq!(
            refused.to_string(),
            "not yet (deliveries_unfinished; `hapax explain deliveries_unfinished` says more)"
        );
        assert!(matches!(refused, Error::Refused { .. }), "{refused:?}");
    }

    #[test]
    fn a_wrong_token_names_the_variable_to_set() {
        let error = answer(
            StatusCode::UNAUTHORIZED,
            r#"{"code":"unauthorized","detail":"no"}"#,
        );
        assert!(error.to_string().contains("HAPAX_ADMIN_TOKEN"));
    }

    #[test]
    fn another_server_at_the_address_is_recognised() {
        let error = answer(StatusCode::NOT_FOUND, "<html>");
        assert!(matches!(error, Error::Unexpected { .. }), "{error}");
    }
}
