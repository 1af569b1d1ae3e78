//! `ack`, `ack_timeout` and `ack_status`: when and how a request is answered.

use std::time::Duration;

use hapax_verify::catalogue::Provider;
use http::StatusCode;
use toml::Value;
use toml::de::DeValue;

use crate::section::Section;
use crate::setting::{Facts, FromToml, Key, Setting, article, words};

pub(super) static ACK: Key<AckWhen> = Key::with_default(
    "ack",
    "stored",
    "When to answer 2xx: `stored` (once the event is durable; deliveries follow) or `processed` (once every destination has processed the event; a failure is answered 500, so that the provider retries).",
);

pub(super) static ACK_TIMEOUT: Key<Duration> = Key::with_default(
    "ack_timeout",
    "1500ms",
    "`ack = \"processed\"`: how long to wait for the work before answering 503; the work goes on. The default is a quarter of the sender's own timeout, if that is less.",
)
.within("10ms", "1m");

pub(super) static ACK_STATUS: Key<StatusCode> =
    Key::with_default("ack_status", "200", "The status for a new event.");

/// When a request is answered 2xx.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ack {
    /// When the event is durable.
    Stored,
    /// When every destination has processed the event.
    Processed {
        /// How long to wait for that.
        limit: Duration,
    },
}

#[derive(Clone, Copy, Debug)]
pub(super) enum AckWhen {
    Stored,
    Processed,
}

words!(AckWhen { Stored, Processed });

impl AckWhen {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Stored => "stored",
            Self::Processed => "processed",
        }
    }
}

impl Setting for StatusCode {
    const TYPE: &'static str = "200 or 202";

    fn from_text(text: &str, _key: &Facts) -> Result<Self, String> {
        match text {
            "200" => Ok(Self::OK),
            "202" => Ok(Self::ACCEPTED),
            other => Err(format!("{other} is not {}", Self::TYPE)),
        }
    }

    fn to_toml(&self) -> Value {
        i64::from(self.as_u16()).into()
    }
}

impl FromToml for StatusCode {
    fn from_toml(value: &DeValue<'_>, key: &Facts) -> Result<Self, String> {
        match value {
            DeValue::Integer(integer) => {
                let number = u32::from_str_radix(integer.as_str(), integer.radix());
                let text = number.map_or_else(|_| integer.to_string(), |number| number.to_string());
                Self::from_text(&text, key)
            }
            other => Err(format!("expected {}, found {}", Self::TYPE, article(other))),
        }
    }
}

/// The limit leaves the provider time to receive the response: at most a quarter of its timeout, if that is known.
pub(super) fn read(section: &mut Section<'_, '_, '_>, provider: Option<&Provider>) -> Ack {
    let senders = provider.and_then(|provider| provider.delivery.timeout_seconds);
    let quarter = senders.map(|seconds| Duration::from_secs(seconds.into()) / 4);
    let limit = section.get_or(&ACK_TIMEOUT, || {
        let default = ACK_TIMEOUT.default_value();
        quarter.unwrap_or(default).min(default)
    });
    if let Some(seconds) = senders.filter(|seconds| limit >= Duration::from_secs((*seconds).into())) {
        section.problem(
            &ACK_TIMEOUT,
            format_args!(
                "the provider times out after {seconds} s, before this response; use a shorter time"
            ),
        );
    }
    match section.get(&ACK) {
        AckWhen::Processed => Ack::Processed { limit },
        AckWhen::Stored => {
            section.hide(&ACK_TIMEOUT);
            if section.has(&ACK_TIMEOUT) {
                section.problem(
                    &ACK_TIMEOUT,
                    "has no effect without `ack = \"processed\"`; remove it, or set that",
                );
            }
            Ack::Stored
        }
    }
}

pub(super) fn read_status(section: &mut Section<'_, '_, '_>, provider: Option<&Provider>) -> StatusCode {
    let status = section.get(&ACK_STATUS);
    let only = provider.and_then(|provider| provider.answer.status);
    if let (Some(only), Some(provider)) = (only, provider)
        && section.has(&ACK_STATUS)
        && only != status.as_u16()
    {
        section.problem(
            &ACK_STATUS,
            format_args!("{} treats only {only} as success; remove it", provider.title),
        );
    }
    status
}
