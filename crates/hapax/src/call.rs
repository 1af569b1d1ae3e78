//! A call to stage in the outbox.

use std::collections::BTreeMap;

use crate::limits::{BODY_BYTES_MAX, HEADERS_MAX, NAME_BYTES_MAX, TARGET_BYTES_MAX};

/// A call to another system, to be made after the commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub(crate) kind: Kind,
    pub(crate) target: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
    pub(crate) key: Option<String>,
    pub(crate) order_key: Option<String>,
}

/// The kind of target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Http,
    Destination,
}

impl Call {
    /// A POST request to `url`.
    pub fn http(url: impl Into<String>) -> Self {
        Self::new(Kind::Http, url.into())
    }

    /// A delivery to the destination with this name in `hapax.toml`, with that destination's retries, limits and
    /// signature.
    pub fn destination(name: impl Into<String>) -> Self {
        Self::new(Kind::Destination, name.into())
    }

    fn new(kind: Kind, target: String) -> Self {
        Self {
            kind,
            target,
            headers: BTreeMap::new(),
            body: Vec::new(),
            key: None,
            order_key: None,
        }
    }

    /// Adds a header. A later value for the same name replaces the earlier one.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers
            .insert(name.into().to_ascii_lowercase(), value.into());
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Sets an explicit `Idempotency-Key`, if the receiver expects a certain one. Calls to different targets may share
    /// a key; each of them is made.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Sets the order key. Calls with the same order key are made one after another, in the order in which they were
    /// staged.
    #[must_use]
    pub fn order_key(mut self, key: impl Into<String>) -> Self {
        self.order_key = Some(key.into());
        self
    }

    /// The headers as the outbox stores them.
    #[doc(hidden)]
    pub fn headers_json(&self) -> String {
        serde_json::json!(self.headers).to_string()
    }

    /// Checks that the call can be made. An invalid call should fail in the transaction, not later in the relay.
    pub fn check(&self) -> Result<(), InvalidCall> {
        let keys = [self.key.as_deref(), self.order_key.as_deref()];
        if self.target.is_empty() {
            Err(InvalidCall::NoTarget)
        } else if self.target.len() > TARGET_BYTES_MAX {
            Err(InvalidCall::TargetTooLong)
        } else if self.headers.len() > HEADERS_MAX {
            Err(InvalidCall::TooManyHeaders)
        } else if self.body.len() > BODY_BYTES_MAX {
            Err(InvalidCall::BodyTooLarge)
        } else if keys
            .into_iter()
            .flatten()
            .any(|key| key.is_empty() || key.len() > NAME_BYTES_MAX)
        {
            Err(InvalidCall::Key)
        } else {
            Ok(())
        }
    }
}

impl Kind {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Destination => "destination",
        }
    }
}

/// Why a call cannot be staged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidCall {
    /// The target is empty.
    #[error("the call has no target; pass a URL, or the name of a destination")]
    NoTarget,
    /// The target is too long.
    #[error("the call's target is longer than {TARGET_BYTES_MAX} bytes")]
    TargetTooLong,
    /// The call has too many headers.
    #[error("the call has more than {HEADERS_MAX} headers")]
    TooManyHeaders,
    /// The body is too large.
    #[error("the call's body is larger than {BODY_BYTES_MAX} bytes; store it elsewhere and send a reference")]
    BodyTooLarge,
    /// A key is empty or too long.
    #[error("a key of the call is empty or longer than {NAME_BYTES_MAX} bytes")]
    Key,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_cannot_be_made_is_refused_where_it_is_staged() {
        assert_eq!(Call::http("").check(), Err(InvalidCall::NoTarget));
        assert_eq!(
            Call::http("x".repeat(3000)).check(),
            Err(InvalidCall::TargetTooLong)
        );
        assert_eq!(
            Call::http("u").body(vec![0; BODY_BYTES_MAX + 1]).check(),
            Err(InvalidCall::BodyTooLarge)
        );
        assert_eq!(Call::http("u").key("").check(), Err(InvalidCall::Key));
        assert_eq!(
            Call::destination("billing").header("A", "b").body("c").check(),
            Ok(())
        );
    }
}
