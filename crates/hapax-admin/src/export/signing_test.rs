//! What a test needs that signs the event itself, with the package for its language: the source, and the delivery.
//!
//! The application decides which source it has: that of the provider, or that of Hapax in front of it. An event of a
//! provider is delivered as its provider would; one without a preset as Hapax does.

use hapax_core::StoredEvent;
use hapax_verify::catalogue::Provider;
use hapax_verify::identity::{FieldList, ValuePath};
use hapax_verify::sign::generate_secret;
use hapax_verify::{Field, OptionKind, OptionValue, sample};

use super::super::state::SourceFacts;
use super::{sent_headers, title};

/// The variable with the secret of a destination.
const GATEWAY_SECRET: &str = "APP_SIGNING_SECRET";

/// The test, in no language yet.
pub(super) struct SigningTest {
    pub(super) title: String,
    pub(super) signer: Signer,
    /// The request's body; of a batch, one with this event alone.
    pub(super) body: Vec<u8>,
    /// The id and the type, if they are in headers.
    pub(super) event_id: Option<String>,
    pub(super) event_type: Option<String>,
}

/// Whose signature the application checks.
pub(super) enum Signer {
    Provider {
        name: &'static str,
        /// The variable with the secret.
        secret: String,
        /// The variable with the private half, if `secret` is the public one.
        private_key: Option<String>,
        options: Vec<(&'static str, SigningOption)>,
    },
    Hapax {
        secret: &'static str,
    },
}

/// The value of an option of the provider.
pub(super) enum SigningOption {
    Text(String),
    List(Vec<String>),
    /// Confidential: the variable that has it.
    Secret(String),
    /// Confidential: the variable that has it, as JSON.
    Secrets(String),
}

impl SigningTest {
    pub(super) fn of(event: &StoredEvent, facts: Option<&SourceFacts>) -> Self {
        let Some((provider, facts)) = facts.and_then(|facts| Some((facts.provider?, facts))) else {
            return Self {
                title: title(event),
                signer: Signer::Hapax {
                    secret: GATEWAY_SECRET,
                },
                body: event.body.to_vec(),
                event_id: None,
                event_type: None,
            };
        };
        let headers = sent_headers(event);
        let rule = &facts.recipe.identity;
        let id_fields: Vec<&Field> = rule.event_id.fields().collect();
        let type_fields = rule
            .event_type
            .as_ref()
            .map(FieldList::fields)
            .unwrap_or_default();
        Self {
            title: title(event),
            signer: Signer::of(provider, facts),
            body: sample::alone(provider, &headers, &event.body).into_owned(),
            // An id of several parts is not the value of any header.
            event_id: matches!(id_fields[..], [field] if is_header(field))
                .then(|| event.identity.event_id.clone()),
            event_type: event
                .event_type
                .clone()
                .filter(|_| type_fields.iter().any(is_header)),
        }
    }
}

impl Signer {
    fn of(provider: &'static Provider, facts: &SourceFacts) -> Self {
        let pair = generate_secret(provider, &[7; 32]);
        let set = provider.options.iter().filter_map(|spec| {
            let name = spec.name.as_str();
            let value = match (spec.kind, facts.options.get(name)?) {
                (OptionKind::Text, OptionValue::Text(text)) => SigningOption::Text(text.clone()),
                (OptionKind::List, OptionValue::List(list)) => SigningOption::List(list.clone()),
                (OptionKind::Table, _) => SigningOption::Secrets(variable(provider, name)),
                _ => SigningOption::Secret(variable(provider, name)),
            };
            Some((name, value))
        });
        Self::Provider {
            name: &provider.name,
            secret: variable(provider, "webhook_secret"),
            private_key: (pair.signing != pair.verifying).then(|| variable(provider, "private_key")),
            options: set.collect(),
        }
    }

    /// The variable with the secret.
    pub(super) fn secret(&self) -> &str {
        match self {
            Self::Provider { secret, .. } => secret,
            Self::Hapax { secret } => secret,
        }
    }
}

fn is_header(field: &Field) -> bool {
    field
        .paths()
        .iter()
        .any(|path| matches!(path, ValuePath::Header(_)))
}

/// The environment variable of this provider for a secret.
fn variable(provider: &Provider, what: &str) -> String {
    format!("{}_{what}", provider.name)
        .to_ascii_uppercase()
        .replace('-', "_")
}
