//! The problem codes: what can go wrong, as a client sees it.
//!
//! Each code is declared once, with its status, title and meaning. Problem documents, the OpenAPI document, metric labels,
//! `hapax explain` and the error reference all derive from it. Codes are stable, and each has a page in `docs/errors/`.

use std::fmt;
use std::str::FromStr;

use serde_json::Value;

/// Who answers with a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Port {
    /// The ingest port; the admin API may answer with it, too.
    Ingest,
    /// Only the admin port.
    Admin,
    /// Only a service that embeds the library.
    Library,
}

/// Everything that is declared about a code.
struct Facts {
    text: &'static str,
    status: u16,
    port: Port,
    title: &'static str,
    meaning: &'static str,
}

macro_rules! codes {
    ($($variant:ident, $text:literal, $status:literal, $port:ident, $title:literal, $meaning:literal;)*) => {
        /// A stable problem code.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $(#[doc = $meaning] $variant,)*
        }

        impl Code {
            /// Every code, in the order of the reference.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            const fn facts(self) -> &'static Facts {
                match self {
                    $(Self::$variant => &Facts {
                        text: $text,
                        status: $status,
                        port: Port::$port,
                        title: $title,
                        meaning: $meaning,
                    },)*
                }
            }
        }
    };
}

// Variant, text, status, port, title, meaning.
codes! {
    SignatureMissing, "signature_missing", 401, Ingest,
        "Signature missing",
        "The request has no signature.";
    SignatureInvalid, "signature_invalid", 401, Ingest,
        "Signature invalid",
        "The signature matches none of the source's secrets.";
    TimestampOutOfRange, "timestamp_out_of_range", 401, Ingest,
        "Timestamp out of range",
        "The signature is valid, but its timestamp is too old or in the future.";
    TransmissionReused, "transmission_reused", 401, Ingest,
        "Transmission reused",
        "The provider does not sign the body, and this transmission arrived before with a different one.";
    AddressNotAllowed, "address_not_allowed", 403, Ingest,
        "Address not allowed",
        "The request comes from an address that is not in the source's `allow_from`.";
    TlsRequired, "tls_required", 400, Ingest,
        "TLS required",
        "The port requires TLS, and the request arrived in plain text.";
    HandshakeRefused, "handshake_refused", 403, Ingest,
        "Handshake refused",
        "A handshake could not be verified, or it contains a secret that was not expected. Open a registration first.";
    ConfirmationFailed, "confirmation_failed", 503, Ingest,
        "Confirmation failed",
        "The provider asks to confirm the subscription by calling a URL, and the call failed. The provider will ask \
         again.";
    EventIdMissing, "event_id_missing", 400, Ingest,
        "Event id missing",
        "The event has no id at the configured location, or its id is not usable.";
    MalformedBody, "malformed_body", 400, Ingest,
        "Malformed body",
        "The id is in the body, and the body cannot be parsed.";
    BodyIncomplete, "body_incomplete", 400, Ingest,
        "Body incomplete",
        "The body ended before it was complete.";
    UnknownSource, "unknown_source", 404, Ingest,
        "Unknown source",
        "There is no source with this name.";
    NotFound, "not_found", 404, Ingest,
        "Not found",
        "There is nothing at this path.";
    MethodNotAllowed, "method_not_allowed", 405, Ingest,
        "Method not allowed",
        "The path does not take this method; `Allow` says which it takes.";
    HeadTimeout, "head_timeout", 408, Ingest,
        "Head too slow",
        "The head of the request did not arrive in time.";
    BodyTimeout, "body_timeout", 408, Ingest,
        "Body too slow",
        "The body did not arrive in time.";
    BodyTooLarge, "body_too_large", 413, Ingest,
        "Body too large",
        "The body is larger than the source's `body_limit`.";
    HeadersTooLarge, "headers_too_large", 431, Ingest,
        "Headers too large",
        "The request has too many headers, or they are too large.";
    EventRefused, "event_refused", 422, Ingest,
        "Event refused",
        "The store cannot store this event.";
    RateLimited, "rate_limited", 429, Ingest,
        "Rate limited",
        "The source's `rate_limit` is reached; `Retry-After` says when to retry.";
    StoreUnsupported, "store_unsupported", 500, Ingest,
        "Store not supported",
        "The store is not set up as Hapax needs it; nothing was accepted. The log names the problem.";
    StoreUnavailable, "store_unavailable", 503, Ingest,
        "Store unavailable",
        "The store cannot be written; nothing was accepted, and the provider will retry.";
    KeyUnavailable, "key_unavailable", 503, Ingest,
        "Key unavailable",
        "The key that the signature names cannot be fetched now; nothing was accepted, and the provider will retry.";
    Overloaded, "overloaded", 503, Ingest,
        "Overloaded",
        "The service is overloaded; nothing was accepted, and the provider will retry.";
    ShuttingDown, "shutting_down", 503, Ingest,
        "Shutting down",
        "The service is stopping; nothing was accepted, and the provider will retry.";
    HandlerFailed, "handler_failed", 500, Ingest,
        "Handler failed",
        "`ack = \"processed\"`: the event is stored, but a destination failed. A redelivery triggers the next attempt.";
    InFlight, "in_flight", 503, Ingest,
        "Still in flight",
        "`ack = \"processed\"`: the event is stored and still being delivered; `Retry-After` says when to retry.";
    SeveralEvents, "several_events", 500, Library,
        "Several events",
        "The request carries several events, or none, and the route accepts exactly one.";
    Unauthorized, "unauthorized", 401, Admin,
        "The token is missing or wrong",
        "The token is missing or wrong, or the session has ended.";
    ForbiddenOrigin, "forbidden_origin", 403, Admin,
        "Without a token, the admin API answers only this machine",
        "Without a token, the admin API answers only this machine.";
    RoleTooLow, "role_too_low", 403, Admin,
        "Your role does not allow this",
        "The caller's role does not allow this.";
    SourcesLimited, "sources_limited", 403, Admin,
        "You can see only some sources",
        "The caller can see only some sources, and this concerns others, or all of them.";
    FieldRedacted, "field_redacted", 403, Admin,
        "This field is redacted",
        "A search by a field that is hidden from this token.";
    StaleForm, "stale_form", 403, Admin,
        "The form is from another session",
        "A dashboard form does not belong to this session.";
    SignInStale, "sign_in_stale", 400, Admin,
        "This sign-in has expired",
        "A sign-in at the identity provider was completed too late, or in another browser.";
    SignInRefused, "sign_in_refused", 403, Admin,
        "You were not signed in",
        "The identity provider ended the sign-in, or its response could not be trusted.";
    NoRole, "no_role", 403, Admin,
        "You have no access",
        "The user signed in at the identity provider, but none of their claims gives access to Hapax.";
    IdentityProviderUnavailable, "identity_provider_unavailable", 503, Admin,
        "The identity provider cannot be used",
        "The identity provider does not respond, or its response does not match `[server.oidc]`.";
    TooManyAttempts, "too_many_attempts", 429, Admin,
        "Too many wrong tokens",
        "Too many wrong tokens came from this address; `Retry-After` says when one is looked at again.";
    InvalidParameter, "invalid_parameter", 400, Admin,
        "A value is invalid",
        "A value of the request cannot be understood.";
    UnknownPath, "unknown_path", 404, Admin,
        "Unknown path",
        "There is nothing at this path.";
    EventNotFound, "event_not_found", 404, Admin,
        "No such event",
        "There is no event with this id, or its body was deleted.";
    UnknownDestination, "unknown_destination", 404, Admin,
        "Unknown destination",
        "There is no destination with this name.";
    UnknownReceiver, "unknown_receiver", 404, Admin,
        "Unknown receiver",
        "No alert receiver has this name.";
    ReplayNotFound, "replay_not_found", 404, Admin,
        "No such replay",
        "There is no replay with this id.";
    LedgerEntryNotFound, "ledger_entry_not_found", 404, Admin,
        "The ledger has no such id",
        "The ledger does not contain this event id.";
    ConflictNotFound, "conflict_not_found", 404, Admin,
        "No such conflict",
        "The event has no conflict with this hash.";
    SavedSearchNotFound, "saved_search_not_found", 404, Admin,
        "No such saved search",
        "There is no saved search with this name.";
    TooManySavedSearches, "too_many_saved_searches", 409, Admin,
        "Too many saved searches",
        "The limit of saved searches is reached.";
    OutboxRowNotFound, "outbox_row_not_found", 404, Admin,
        "No such refused row",
        "There is no such outbox, or it has no refused row with this id.";
    OutboxUnavailable, "outbox_unavailable", 503, Admin,
        "The outbox is unavailable",
        "The database of the outbox cannot be used now.";
    DeliveriesUnfinished, "deliveries_unfinished", 409, Admin,
        "Deliveries are unfinished",
        "Deliveries of the event are unfinished; wait for them, or pause the destination.";
    NothingToReplay, "nothing_to_replay", 409, Admin,
        "Nothing to replay",
        "No delivery of the event matches the mode.";
    ReplayFinished, "replay_finished", 409, Admin,
        "The replay has finished",
        "The replay has finished and cannot be cancelled.";
    NoRegistration, "no_registration", 409, Admin,
        "The source does not use registrations",
        "The provider of this source does not send its secret, so there is nothing to register.";
    StoreRejected, "store_rejected", 422, Admin,
        "The store refused this",
        "The store refused this.";
    TooManyStreams, "too_many_streams", 503, Admin,
        "Too many live tails",
        "Too many live tails are open.";
    StoreDamaged, "store_damaged", 500, Admin,
        "The store is damaged",
        "The store's file is damaged; Hapax does not change it.";
}

impl Code {
    /// The beginning of every `type`, before the code.
    pub const URN_PREFIX: &'static str = "urn:hapax:problem:";

    /// The code as it is written everywhere, such as `signature_invalid`.
    pub const fn as_str(self) -> &'static str {
        self.facts().text
    }

    /// The HTTP status.
    pub const fn status(self) -> u16 {
        self.facts().status
    }

    /// Who answers with it.
    pub const fn port(self) -> Port {
        self.facts().port
    }

    /// A short name for people, the same for every occurrence.
    pub const fn title(self) -> &'static str {
        self.facts().title
    }

    /// What it means, in one sentence.
    pub const fn meaning(self) -> &'static str {
        self.facts().meaning
    }

    /// The `type` of a problem document (RFC 9457): a name that stays the same wherever the documentation is.
    pub fn urn(self) -> String {
        format!("{}{self}", Self::URN_PREFIX)
    }

    /// The command that prints the code's page.
    pub fn explain(self) -> String {
        format!("hapax explain {self}")
    }

    /// The problem document (RFC 9457) for one occurrence.
    pub fn document(self, detail: &str) -> String {
        let (title, detail) = (Value::from(self.title()), Value::from(detail));
        format!(
            r#"{{"type":"{}","title":{title},"status":{},"detail":{detail},"code":"{self}","explain":"{}"}}"#,
            self.urn(),
            self.status(),
            self.explain()
        )
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A text that is not a problem code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a problem code")]
pub struct UnknownCode(String);

impl FromStr for Code {
    type Err = UnknownCode;

    fn from_str(text: &str) -> Result<Self, UnknownCode> {
        let found = Self::ALL.iter().find(|code| code.as_str() == text);
        found.copied().ok_or_else(|| UnknownCode(text.to_owned()))
    }
}

impl serde::Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_read_back_from_its_text_and_from_no_other() {
        for code in Code::ALL {
            assert_eq!(code.as_str().parse(), Ok(*code), "{code}");
            assert!((400..600).contains(&code.status()), "{code}");
        }
        let unknown = "signature_invalids".parse::<Code>().unwrap_err();
        assert_eq!(unknown.to_string(), "`signature_invalids` is not a problem code");
    }
}
