//! What can be wrong with a scheme, a rule or a secret, found once at start and not at the first request.

use crate::limits::{
    COMPOSITE_PARTS_MAX, POINTER_DEPTH_MAX, POINTERS_MAX, SECRETS_MAX, TOLERANCE_SECONDS_MAX,
};

/// Why a verifier or signer cannot be made. Secrets are named by their place, counted from 1, and never printed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// There is no secret at all.
    #[error("no secret: without one nothing can be verified; add the sender's signing secret to `secrets`")]
    NoSecrets,
    /// There are more secrets than rotation needs.
    #[error(
        "{count} secrets: at most {SECRETS_MAX} are tried per request; remove the ones that are no longer used"
    )]
    TooManySecrets {
        /// How many were given.
        count: usize,
    },
    /// An option is absent without which nothing can be verified.
    #[error("the option `{name}` is not set, and without it nothing can be verified; add it to the source")]
    OptionMissing {
        /// Its name.
        name: &'static str,
    },
    /// An option has a value that means nothing.
    #[error("the option `{name}` is not {expected}; correct it at the source")]
    OptionInvalid {
        /// Its name.
        name: &'static str,
        /// What it should be.
        expected: &'static str,
    },
    /// One secret cannot be used.
    #[error("secret {position}: {problem}")]
    Secret {
        /// Which one, counted from 1.
        position: usize,
        /// What is wrong with it.
        problem: SecretProblem,
    },
    /// A key in an option cannot be used.
    #[error("the key `{name}` in the source's options: {problem}")]
    KeyInOption {
        /// The option, or the key's name in it.
        name: String,
        /// What is wrong with it.
        problem: SecretProblem,
    },
    /// The signed-content template names something that does not exist.
    #[error(
        "`signed` contains {{{placeholder}}}, which is not known; use {{body}}, {{timestamp}}, {{id}}, {{method}}, {{url}} \
         or {{header:NAME}}"
    )]
    UnknownPlaceholder {
        /// What stood between the braces.
        placeholder: String,
    },
    /// The template has a brace without its partner.
    #[error("`signed` has a brace that is not closed or not opened; placeholders look like {{body}}")]
    UnbalancedBrace,
    /// The template leaves out the body.
    #[error("`signed` does not contain {{body}}: anybody could change the body under a genuine signature")]
    BodyNotSigned,
    /// Two parts of the template have no border.
    #[error(
        "`signed` does not show where {first} ends and {second} begins, so that one signature would fit two different \
         requests; the sender has to sign a separator between them, with {{body}} last: write it like \"{example}\""
    )]
    PartsCanMove {
        /// The part that comes first.
        first: String,
        /// The one that follows.
        second: String,
        /// What would be clear.
        example: String,
    },
    /// The template needs a timestamp that nothing provides.
    #[error("`signed` contains {{timestamp}}, but `timestamp_header` does not say where it is")]
    TimestampPlaceMissing,
    /// A timestamp is named that the signature does not cover.
    #[error(
        "a timestamp is configured, but `signed` does not contain {{timestamp}}: a timestamp that is not signed protects \
         nothing; add it to `signed`, or remove `timestamp_header` and `tolerance`"
    )]
    TimestampNotSigned,
    /// The template needs an id that nothing provides.
    #[error("`signed` contains {{id}}, but `id_header` does not say where it is")]
    IdPlaceMissing,
    /// A tolerance that cannot be read, or is too wide.
    #[error(
        "`tolerance` is \"{text}\"; write it like \"90s\", \"5m\" or \"1h\", at most {TOLERANCE_SECONDS_MAX} s"
    )]
    Tolerance {
        /// What was written.
        text: String,
    },
    /// A header name that HTTP does not allow.
    #[error("\"{name}\" is not a header name; write it like \"x-signature\"")]
    HeaderName {
        /// What was written.
        name: String,
    },
    /// A `verify` table lacks something that its scheme needs.
    #[error("`scheme = \"{scheme}\"` needs `{key}`: {what}")]
    VerifyKeyMissing {
        /// The scheme.
        scheme: &'static str,
        /// The key, or the choice of them.
        key: &'static str,
        /// What it is.
        what: &'static str,
    },
    /// A `verify` table has something that its scheme does not read.
    #[error("`scheme = \"{scheme}\"` takes no `{key}`; remove it{}", takes(.known))]
    VerifyKeyUnused {
        /// The scheme.
        scheme: &'static str,
        /// The key.
        key: &'static str,
        /// The keys that it takes.
        known: &'static [&'static str],
    },
    /// A scheme without any header or signature to look at.
    #[error("the scheme names no {what}")]
    SchemeIncomplete {
        /// What is absent.
        what: &'static str,
    },
    /// A field of an identity rule that cannot be read.
    #[error("\"{text}\" is not a place for an id or type: {problem}")]
    Field {
        /// What was written.
        text: String,
        /// What is wrong with it.
        problem: FieldProblem,
    },
    /// An empty list of fields, or one that is too long.
    #[error("a composite has between 1 and {COMPOSITE_PARTS_MAX} parts, this one has {count}")]
    CompositeSize {
        /// How many it has.
        count: usize,
    },
    /// More JSON pointers than one pass should look for.
    #[error("the id and type name more than {POINTERS_MAX} different places inside the body")]
    TooManyPointers,
}

/// What is wrong with a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SecretProblem {
    /// It is empty.
    #[error("it is empty; check the environment variable or file it comes from")]
    Empty,
    /// It is not base64.
    #[error("not base64{}; copy it again from the sender, whole", after(.prefix.as_deref()))]
    NotBase64 {
        /// The prefix that was taken off first.
        prefix: Option<String>,
    },
    /// It is not hexadecimal.
    #[error("not hexadecimal{}; copy it again from the sender, whole", after(.prefix.as_deref()))]
    NotHex {
        /// The prefix that was taken off first.
        prefix: Option<String>,
    },
    /// It lacks the prefix that says what kind of secret it is.
    #[error("it does not begin with {expected}; check that it belongs to this provider")]
    PrefixMissing {
        /// The prefixes that are known.
        expected: String,
    },
    /// It is a private key where a public one belongs.
    #[error(
        "it begins with {prefix} and is a private signing key; verification takes the public key, {public_prefix}…"
    )]
    PrivateKey {
        /// The prefix it has.
        prefix: String,
        /// The prefix it should have.
        public_prefix: String,
    },
    /// It is a public key where a private one belongs.
    #[error("it is a public key and cannot sign; signing takes the private key")]
    PublicKey,
    /// It does not have the length of an Ed25519 key.
    #[error("it is {bytes} bytes long, and an Ed25519 key has 32 (or 64 as private and public key together)")]
    KeyLength {
        /// How long it is.
        bytes: usize,
    },
    /// It is neither a certificate nor a public key.
    #[error(
        "it is no {expected}; copy it again from the sender, whole, and mind that it is the public half that verifies"
    )]
    NotAPublicKey {
        /// What it should be.
        expected: &'static str,
    },
    /// It is not a private key that can sign.
    #[error("it is no {expected}; signing takes the private half")]
    NotASigningKey {
        /// What it should be.
        expected: &'static str,
    },
    /// It is not a user name and a password.
    #[error("it is not `user:password`; write both with a colon between them, as the sender has them")]
    NotUserAndPassword,
    /// It has the right length and is not a key all the same.
    #[error("it is not an Ed25519 key")]
    NotAKey,
}

/// What is wrong with the text of a [`crate::Field`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FieldProblem {
    /// It begins with none of the known kinds.
    #[error("write \"header:NAME\", \"body:/json/pointer\" or \"body-sha256\"")]
    UnknownKind,
    /// The header name is not one.
    #[error("what follows `header:` is not a header name")]
    HeaderName,
    /// The JSON pointer is not one.
    #[error(
        "what follows `body:` is not a JSON pointer; it begins with `/`, and `~` is written `~0`, `/` is `~1`"
    )]
    Pointer,
    /// The JSON pointer reaches too deep.
    #[error("the JSON pointer is deeper than {POINTER_DEPTH_MAX}")]
    PointerDepth,
}

fn takes(known: &[&str]) -> String {
    match known {
        [] => String::new(),
        known => format!(" (it takes `{}`)", known.join("`, `")),
    }
}

fn after(prefix: Option<&str>) -> String {
    prefix
        .map(|prefix| format!(" after {prefix}"))
        .unwrap_or_default()
}
