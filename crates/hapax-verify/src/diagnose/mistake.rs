//! What can have gone wrong, and how it is said.

use crate::Encoding;
use crate::scheme::KeyEncoding;

/// A likely mistake. What it says names no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mistake {
    /// The signature is right and its time is not near the time of arrival.
    Clock {
        /// How many seconds the clock here is ahead of the signed time; behind it, if negative.
        off_by_seconds: i64,
    },
    /// It was signed with a secret of another source.
    SecretOfSource {
        /// The other source's name.
        source: String,
    },
    /// It was signed with a secret that this source had before.
    OlderSecret,
    /// The secret that is configured here has blanks or quotes around it that do not belong to it.
    SecretSurrounded {
        /// Which of the secrets, counted from 1.
        position: usize,
    },
    /// The secret that the sender has ends with a line break.
    SecretOfSenderSurrounded {
        /// Which of the secrets, counted from 1.
        position: usize,
    },
    /// The sender makes the key from the secret's text in another way.
    SecretReading {
        /// Which of the secrets, counted from 1.
        position: usize,
        /// How the sender reads it.
        sender: KeyEncoding,
    },
    /// The signature is right, and written in another encoding.
    SignatureEncoding {
        /// The encoding that it is written in.
        found: Encoding,
    },
    /// The sender signed another URL.
    Url {
        /// The URL that it signed, without its query.
        signed: String,
        /// The URL that is configured here, without its query.
        configured: String,
    },
    /// The body was changed on the way.
    Body(BodyChange),
    /// It has the headers of another provider.
    OtherProvider {
        /// The provider's name in the catalogue.
        provider: String,
    },
}

/// What was done to a body on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyChange {
    /// The line break at its end was taken off.
    LastLineBreakCut,
    /// Blanks or a line break were added around it.
    BlanksAdded,
    /// Its line ends were CR LF, and are LF now.
    LineEndsShortened,
    /// Its line ends were LF, and are CR LF now.
    LineEndsLengthened,
    /// A byte order mark was added.
    MarkAdded,
    /// JSON was read and written again.
    JsonRewritten,
    /// A form was read and written again.
    FormRewritten,
}

impl std::fmt::Display for Mistake {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Mistake::Clock { off_by_seconds } => clock(*off_by_seconds, formatter),
            Mistake::SecretOfSource { source } => write!(
                formatter,
                "it is signed with a secret of the source `{source}`; the sender uses the wrong secret, or the wrong URL"
            ),
            Mistake::OlderSecret => formatter.write_str(
                "it is signed with an older secret; keep that one in `secrets` until the sender uses the new one",
            ),
            Mistake::SecretSurrounded { position } => write!(
                formatter,
                "secret {position} has blanks, a line break or quotes around it; take them off"
            ),
            Mistake::SecretOfSenderSurrounded { position } => write!(
                formatter,
                "the sender's copy of secret {position} ends with a line break; set it there again without one"
            ),
            Mistake::SecretReading { position, sender } => write!(
                formatter,
                "the sender uses {} as the key; check `provider`, or `key` in `verify`",
                reading(*position, *sender)
            ),
            Mistake::SignatureEncoding { found } => write!(
                formatter,
                "the signature is right, but written in {found}; check `provider`, or `encoding` in `verify`"
            ),
            Mistake::Url { signed, configured } => write!(
                formatter,
                "it is signed for the URL {signed}, and here the URL is {configured}; set `public_url` to what the sender was \
                 given"
            ),
            Mistake::Body(change) => write!(
                formatter,
                "the body was changed on the way: {change}; let the proxy or framework in between pass it on as it came"
            ),
            Mistake::OtherProvider { provider } => write!(
                formatter,
                "it has the headers of `{provider}`; check `provider`, and which URL that sender was given"
            ),
        }
    }
}

impl std::fmt::Display for BodyChange {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            BodyChange::LastLineBreakCut => "the line break at its end is missing",
            BodyChange::BlanksAdded => {
                "there are blanks or line breaks around it that the sender did not send"
            }
            BodyChange::LineEndsShortened => "its line ends were CR LF and are LF now",
            BodyChange::LineEndsLengthened => "its line ends were LF and are CR LF now",
            BodyChange::MarkAdded => "it begins with a byte order mark that the sender did not send",
            BodyChange::JsonRewritten => {
                "its JSON was read and written again, so that spacing, order or escapes differ"
            }
            BodyChange::FormRewritten => "its form was read and written again, so that escapes differ",
        })
    }
}

fn clock(off_by_seconds: i64, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
    let direction = if off_by_seconds < 0 { "behind" } else { "ahead of" };
    let seconds = off_by_seconds.unsigned_abs();
    write!(
        formatter,
        "the signature is right, and the clock here is {seconds} s {direction} its timestamp; check both clocks, or look \
         for what held the delivery back"
    )
}

fn reading(position: usize, sender: KeyEncoding) -> String {
    match sender {
        KeyEncoding::Utf8 | KeyEncoding::Entities => format!("the text of secret {position} as it stands"),
        KeyEncoding::Base64 => format!("the bytes that secret {position} encodes in base64"),
        KeyEncoding::Hex => format!("the bytes that secret {position} encodes in hexadecimal"),
    }
}
