//! What does not depend on any input: the version, the catalogue and the limits.

use hapax::limits::{
    BODY_BYTES_MAX, BODY_TIMEOUT, CLAIM_ATTEMPTS_MAX, HEADERS_MAX, NAME_BYTES_MAX, PURGE_ROWS_MAX,
    TARGET_BYTES_MAX, WAIT_DEFAULT,
};
use hapax::tables::INBOX_RETENTION;
use hapax_verify::{OptionKind, SecretNeed, catalogue};

/// A provider of the catalogue.
#[derive(Clone, Debug)]
pub struct ProviderFacts {
    /// The name in the catalogue.
    pub name: &'static str,
    /// The name as the provider writes it.
    pub title: &'static str,
    /// Where the provider documents its webhooks.
    pub docs: &'static [String],
    /// Whether nothing can be verified without a secret.
    pub needs_secret: bool,
    /// What it needs in addition to its secrets.
    pub options: Vec<OptionFacts>,
}

/// An option of a provider.
#[derive(Clone, Debug)]
pub struct OptionFacts {
    /// The name of the option.
    pub name: &'static str,
    /// A one-sentence description.
    pub about: &'static str,
    /// The shape of its value: `text`, `secret`, `list` or `table`.
    pub kind: &'static str,
    /// Whether the provider's requests cannot be verified without it.
    pub required: bool,
}

/// The limits that a library has to keep itself.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// [`NAME_BYTES_MAX`].
    pub name_bytes_max: usize,
    /// [`PURGE_ROWS_MAX`].
    pub purge_rows_max: u32,
    /// [`TARGET_BYTES_MAX`].
    pub target_bytes_max: usize,
    /// [`HEADERS_MAX`].
    pub headers_max: usize,
    /// [`BODY_BYTES_MAX`].
    pub body_bytes_max: usize,
    /// [`BODY_TIMEOUT`].
    pub body_timeout_seconds: u64,
    /// [`WAIT_DEFAULT`].
    pub wait_ms_default: u64,
    /// [`INBOX_RETENTION`].
    pub retention_seconds_default: u64,
    /// [`CLAIM_ATTEMPTS_MAX`].
    pub claim_attempts_max: usize,
}

/// The version of the library.
pub const fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Every provider of the catalogue.
pub fn providers() -> Vec<ProviderFacts> {
    let facts = |provider: &'static catalogue::Provider| ProviderFacts {
        name: &provider.name,
        title: &provider.title,
        docs: &provider.docs,
        needs_secret: provider.secrets == SecretNeed::Required,
        options: provider
            .options
            .iter()
            .map(|option| OptionFacts {
                name: &option.name,
                about: &option.about,
                kind: match option.kind {
                    OptionKind::Text => "text",
                    OptionKind::Secret => "secret",
                    OptionKind::List => "list",
                    OptionKind::Table => "table",
                },
                required: option.required,
            })
            .collect(),
    };
    catalogue::all().iter().map(facts).collect()
}

/// All limits.
pub fn limits() -> Limits {
    Limits {
        name_bytes_max: NAME_BYTES_MAX,
        purge_rows_max: PURGE_ROWS_MAX,
        target_bytes_max: TARGET_BYTES_MAX,
        headers_max: HEADERS_MAX,
        body_bytes_max: BODY_BYTES_MAX,
        body_timeout_seconds: BODY_TIMEOUT.as_secs(),
        wait_ms_default: WAIT_DEFAULT.as_millis() as u64,
        retention_seconds_default: INBOX_RETENTION.as_secs(),
        claim_attempts_max: CLAIM_ATTEMPTS_MAX,
    }
}
