//! The possible mistakes, and how they are described.

use crate::encoding::Encoding;
use crate::scheme::KeyEncoding;

/// A likely mistake. Its description contains no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mistake {
    /// The signature is valid, but its time is too far from the time of arrival.
    Clock {
        /// How many seconds the local clock is ahead of the signed time; negative if it is behind.
        off_by_seconds: i64,
    },
    /// The delivery was signed with a secret of another source.
    SecretOfSource {
        /// The other source's name.
        source: String,
    },
    /// The delivery was signed with a secret that this source used before.
    OlderSecret,
    /// The configured secret is surrounded by whitespace or quotes that do not belong to it.
    SecretSurrounded {
        /// The position of the secret, counted from 1.
        position: usize,
    },
    /// The provider's secret ends with a line break.
    SecretOfSenderSurrounded {
        /// The position of the secret, counted from 1.
        position: usize,
    },
    /// The provider derives the key from the secret in another way.
    SecretReading {
        /// The position of the secret, counted from 1.
        position: usize,
        /// The encoding that the provider uses.
        sender: KeyEncoding,
    },
    /// The signature is correct but in a different encoding.
    SignatureEncoding {
        /// The encoding of the signature.
        found: Encoding,
    },
    /// The provider signed a different URL.
    Url {
        /// The signed URL, without its query.
        signed: String,
        /// The configured URL, without its query.
        configured: String,
    },
    /// The body was changed in transit.
    Body(BodyChange),
    /// The delivery has the headers of another provider.
    OtherProvider {
        /// The provider's name in the catalogue.
        provider: String,
    },
}

/// How a body was changed in transit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyChange {
    /// The final line break was removed.
    LastLineBreakCut,
    /// Whitespace or a line break was added around it.
    BlanksAdded,
    /// Its line endings were changed from CR LF to LF.
    LineEndsShortened,
    /// Its line endings were changed from LF to CR LF.
    LineEndsLengthened,
    /// A byte order mark was added.
    MarkAdded,
    /// JSON was parsed and serialised again.
    JsonRewritten,
    /// A form was parsed and serialised again.
    FormRewritten,
}

impl std::fmt::Display for Mistake {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Mistake::Clock { off_by_seconds } => clock(*off_by_seconds, formatter),
            Mistake::SecretOfSource { source } => write!(
                formatter,
                "it is signed with a secret of the source `{source}`; the provider uses the wrong secret or the wrong URL"
            ),
            Mistake::OlderSecret => formatter.write_str(
                "it is signed with an older secret; keep it in `secrets` until the provider uses the new one",
            ),
            Mistake::SecretSurrounded { position } => write!(
                formatter,
                "secret {position} has whitespace, a line break or quotes around it; remove them"
            ),
            Mistake::SecretOfSenderSurrounded { position } => write!(
                formatter,
                "the provider's copy of secret {position} ends with a line break; enter it there again without one"
            ),
            Mistake::SecretReading { position, sender } => write!(
                formatter,
                "the provider uses {} as the key; check `provider`, or `key` in `verify`",
                reading(*position, *sender)
            ),
            Mistake::SignatureEncoding { found } => write!(
                formatter,
                "the signature is correct, but encoded in {found}; check `provider`, or `encoding` in `verify`"
            ),
            Mistake::Url { signed, configured } => write!(
                formatter,
                "it is signed for the URL {signed}, but the configured URL is {configured}; set `public_url` to the URL that \
                 the provider calls"
            ),
            Mistake::Body(change) => write!(
                formatter,
                "the body was changed in transit: {change}; configure the proxy or framework in between to pass it on unchanged"
            ),
            Mistake::OtherProvider { provider } => write!(
                formatter,
                "it has the headers of `{provider}`; check `provider`, and the URL that is configured at that provider"
            ),
        }
    }
}

impl std::fmt::Display for BodyChange {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            BodyChange::LastLineBreakCut => "the line break at its end is missing",
            BodyChange::BlanksAdded => {
                "it is surrounded by whitespace or line breaks that the provider did not send"
            }
            BodyChange::LineEndsShortened => "its line endings were changed from CR LF to LF",
            BodyChange::LineEndsLengthened => "its line endings were changed from LF to CR LF",
            BodyChange::MarkAdded => "it begins with a byte-order mark that the provider did not send",
            BodyChange::JsonRewritten => {
                "its JSON was parsed and serialised again, so spacing, order or escapes differ"
            }
            BodyChange::FormRewritten => "its form was parsed and serialised again, so escapes differ",
        })
    }
}

fn clock(off_by_seconds: i64, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
    let direction = if off_by_seconds < 0 { "behind" } else { "ahead of" };
    let seconds = off_by_seconds.unsigned_abs();
    write!(
        formatter,
        "the signature is valid, but the local clock is {seconds} s {direction} its timestamp; check both clocks, or \
         find out what delayed the delivery"
    )
}

fn reading(position: usize, sender: KeyEncoding) -> String {
    match sender {
        KeyEncoding::Utf8 | KeyEncoding::Entities => format!("the text of secret {position} as it stands"),
        KeyEncoding::Base64 => format!("the bytes that secret {position} encodes in base64"),
        KeyEncoding::Hex => format!("the bytes that secret {position} encodes in hexadecimal"),
    }
}
