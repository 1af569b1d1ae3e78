//! Errors in a scheme, a rule or a secret, found once at start and not at the first request.

use crate::limits::{
    COMPOSITE_PARTS_MAX, POINTER_DEPTH_MAX, POINTERS_MAX, SECRETS_MAX, TOLERANCE_SECONDS_MAX,
};

/// Why a verifier or signer cannot be created. Secrets are identified by their position, counted from 1, and never
/// printed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// No secret is configured.
    #[error("no secret: without one nothing can be verified; add the provider's signing secret to `secrets`")]
    NoSecrets,
    /// More secrets are configured than rotation needs.
    #[error(
        "{count} secrets: at most {SECRETS_MAX} are tried per request; remove the ones that are no longer used"
    )]
    TooManySecrets {
        /// The number of secrets.
        count: usize,
    },
    /// A required option is missing.
    #[error("the option `{name}` is not set, and without it nothing can be verified; add it to the source")]
    OptionMissing {
        /// The name of the option.
        name: &'static str,
    },
    /// An option has an invalid value.
    #[error("the option `{name}` is not {expected}; correct it at the source")]
    OptionInvalid {
        /// The name of the option.
        name: &'static str,
        /// A description of valid values.
        expected: &'static str,
    },
    /// A secret is invalid.
    #[error("secret {position}: {problem}")]
    Secret {
        /// The position of the secret, counted from 1.
        position: usize,
        /// What is wrong with it.
        problem: SecretProblem,
    },
    /// A key in an option is invalid.
    #[error("the key `{name}` in the source's options: {problem}")]
    KeyInOption {
        /// The option, or the key's name in it.
        name: String,
        /// What is wrong with it.
        problem: SecretProblem,
    },
    /// The template of the signed content contains an unknown placeholder.
    #[error(
        "`signed` contains {{{placeholder}}}, which is unknown; use {{body}}, {{timestamp}}, {{id}}, {{method}}, {{url}} \
         or {{header:NAME}}"
    )]
    UnknownPlaceholder {
        /// The text between the braces.
        placeholder: String,
    },
    /// The template has an unmatched brace.
    #[error("`signed` has an unmatched brace; placeholders look like {{body}}")]
    UnbalancedBrace,
    /// The template does not contain the body.
    #[error("`signed` does not contain {{body}}: anyone could change the body under a genuine signature")]
    BodyNotSigned,
    /// The boundary between two parts of the template is ambiguous.
    #[error(
        "`signed` does not show where {first} ends and {second} begins, so one signature would be valid for two different \
         requests; the provider must sign a separator between them, with {{body}} last: write it like \"{example}\""
    )]
    PartsCanMove {
        /// The first part.
        first: String,
        /// The part that follows it.
        second: String,
        /// An unambiguous template.
        example: String,
    },
    /// The template contains a timestamp, but its location is not configured.
    #[error("`signed` contains {{timestamp}}, but `timestamp_header` does not say where it is")]
    TimestampPlaceMissing,
    /// A timestamp is configured that the signature does not cover.
    #[error(
        "a timestamp is configured, but `signed` does not contain {{timestamp}}: a timestamp that is not signed protects \
         nothing; add it to `signed`, or remove `timestamp_header` and `tolerance`"
    )]
    TimestampNotSigned,
    /// The template contains an id, but its location is not configured.
    #[error("`signed` contains {{id}}, but `id_header` does not say where it is")]
    IdPlaceMissing,
    /// The tolerance is invalid or too wide.
    #[error(
        "`tolerance` is \"{text}\"; write it like \"90s\", \"5m\" or \"1h\", at most {TOLERANCE_SECONDS_MAX} s"
    )]
    Tolerance {
        /// The configured value.
        text: String,
    },
    /// The header name is not valid in HTTP.
    #[error("\"{name}\" is not a header name; write it like \"x-signature\"")]
    HeaderName {
        /// The configured value.
        name: String,
    },
    /// A `verify` table lacks a key that its scheme needs.
    #[error("`scheme = \"{scheme}\"` needs `{key}`: {what}")]
    VerifyKeyMissing {
        /// The name of the scheme.
        scheme: &'static str,
        /// The missing key, or a choice of keys.
        key: &'static str,
        /// A description of the key.
        what: &'static str,
    },
    /// A `verify` table has a key that its scheme does not use.
    #[error("`scheme = \"{scheme}\"` takes no `{key}`; remove it{}", takes(.known))]
    VerifyKeyUnused {
        /// The name of the scheme.
        scheme: &'static str,
        /// The unused key.
        key: &'static str,
        /// The keys that the scheme uses.
        known: &'static [&'static str],
    },
    /// A scheme without any header or signature.
    #[error("the scheme names no {what}")]
    SchemeIncomplete {
        /// What is missing.
        what: &'static str,
    },
    /// A field of an identity rule is invalid.
    #[error("\"{text}\" is not a location of an id or type: {problem}")]
    Field {
        /// The configured value.
        text: String,
        /// What is wrong with it.
        problem: FieldProblem,
    },
    /// A list of fields is empty or too long.
    #[error("a composite has between 1 and {COMPOSITE_PARTS_MAX} parts, this one has {count}")]
    CompositeSize {
        /// The number of fields.
        count: usize,
    },
    /// The rule has more JSON pointers than one pass should extract.
    #[error("the id and type name more than {POINTERS_MAX} different locations inside the body")]
    TooManyPointers,
}

/// What is wrong with a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SecretProblem {
    /// It is empty.
    #[error("it is empty; check the environment variable or file it comes from")]
    Empty,
    /// It is not base64.
    #[error("not base64{}; copy the complete secret again", after(.prefix.as_deref()))]
    NotBase64 {
        /// The prefix that was removed first.
        prefix: Option<String>,
    },
    /// It is not hexadecimal.
    #[error("not hexadecimal{}; copy the complete secret again", after(.prefix.as_deref()))]
    NotHex {
        /// The prefix that was removed first.
        prefix: Option<String>,
    },
    /// It lacks the prefix that identifies its kind.
    #[error("it does not begin with {expected}; check that it belongs to this provider")]
    PrefixMissing {
        /// The known prefixes.
        expected: String,
    },
    /// It is a private key where a public one is expected.
    #[error(
        "it begins with {prefix} and is a private signing key; verification takes the public key, {public_prefix}…"
    )]
    PrivateKey {
        /// Its prefix.
        prefix: String,
        /// The expected prefix.
        public_prefix: String,
    },
    /// It is a public key where a private one is expected.
    #[error("it is a public key and cannot sign; signing takes the private key")]
    PublicKey,
    /// It does not have the length of an Ed25519 key.
    #[error("it is {bytes} bytes long, and an Ed25519 key has 32 (or 64 as private and public key together)")]
    KeyLength {
        /// Its length in bytes.
        bytes: usize,
    },
    /// It is neither a certificate nor a public key.
    #[error(
        "it is not {expected}; copy all of it from the provider again, and use the public half, which verifies"
    )]
    NotAPublicKey {
        /// A description of the expected key.
        expected: &'static str,
    },
    /// It is not a private key that can sign.
    #[error("it is not {expected}; signing takes the private half")]
    NotASigningKey {
        /// A description of the expected key.
        expected: &'static str,
    },
    /// It is not a user name and a password.
    #[error("it is not `user:password`; write both with a colon between them, as the provider has them")]
    NotUserAndPassword,
    /// It has the right length but is not a valid key.
    #[error("it is not an Ed25519 key")]
    NotAKey,
}

/// What is wrong with the text of a [`crate::Field`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FieldProblem {
    /// It has no known prefix.
    #[error("write \"header:NAME\", \"body:/json/pointer\" or \"body-sha256\"")]
    UnknownKind,
    /// The header name is invalid.
    #[error("what follows `header:` is not a header name")]
    HeaderName,
    /// The JSON pointer is invalid.
    #[error(
        "what follows `body:` is not a JSON pointer; it begins with `/`, and `~` is written `~0`, `/` is `~1`"
    )]
    Pointer,
    /// The JSON pointer is too deep.
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
