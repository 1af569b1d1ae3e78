//! The catalogue of providers: one small data file each.
//!
//! To add a provider, write `catalogue/<name>.toml`, add its line to `FILES`, and its vectors to `tests/vectors`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::answer::AnswerRule;
use crate::handshake::Handshake;
use crate::id_shape::IdShape;
use crate::identity::IdentityRule;
use crate::options::{OptionKind, OptionSpec, OptionValue, Options};
use crate::proof::Proof;
use crate::recipe::{Recipe, SecretNeed};

/// The name and content of every file, sorted by name.
static FILES: &[(&str, &str)] = &[
    ("adyen", include_str!("catalogue/adyen.toml")),
    ("asana", include_str!("catalogue/asana.toml")),
    ("aws-sns", include_str!("catalogue/aws-sns.toml")),
    (
        "azure-event-grid",
        include_str!("catalogue/azure-event-grid.toml"),
    ),
    ("bigcommerce", include_str!("catalogue/bigcommerce.toml")),
    ("bitbucket", include_str!("catalogue/bitbucket.toml")),
    ("box", include_str!("catalogue/box.toml")),
    ("braintree", include_str!("catalogue/braintree.toml")),
    ("calendly", include_str!("catalogue/calendly.toml")),
    ("circleci", include_str!("catalogue/circleci.toml")),
    ("clerk", include_str!("catalogue/clerk.toml")),
    ("cloudevents", include_str!("catalogue/cloudevents.toml")),
    (
        "coinbase-commerce",
        include_str!("catalogue/coinbase-commerce.toml"),
    ),
    ("contentful", include_str!("catalogue/contentful.toml")),
    ("discord", include_str!("catalogue/discord.toml")),
    ("docusign", include_str!("catalogue/docusign.toml")),
    ("dropbox", include_str!("catalogue/dropbox.toml")),
    ("github", include_str!("catalogue/github.toml")),
    ("gitlab", include_str!("catalogue/gitlab.toml")),
    ("gocardless", include_str!("catalogue/gocardless.toml")),
    ("heroku", include_str!("catalogue/heroku.toml")),
    ("hubspot", include_str!("catalogue/hubspot.toml")),
    ("intercom", include_str!("catalogue/intercom.toml")),
    ("jira", include_str!("catalogue/jira.toml")),
    ("launchdarkly", include_str!("catalogue/launchdarkly.toml")),
    ("lemonsqueezy", include_str!("catalogue/lemonsqueezy.toml")),
    ("line", include_str!("catalogue/line.toml")),
    ("linear", include_str!("catalogue/linear.toml")),
    ("mailgun", include_str!("catalogue/mailgun.toml")),
    ("meta", include_str!("catalogue/meta.toml")),
    ("mollie", include_str!("catalogue/mollie.toml")),
    ("openai", include_str!("catalogue/openai.toml")),
    ("paddle", include_str!("catalogue/paddle.toml")),
    ("pagerduty", include_str!("catalogue/pagerduty.toml")),
    ("paypal", include_str!("catalogue/paypal.toml")),
    ("plaid", include_str!("catalogue/plaid.toml")),
    ("postmark", include_str!("catalogue/postmark.toml")),
    ("pusher", include_str!("catalogue/pusher.toml")),
    ("quickbooks", include_str!("catalogue/quickbooks.toml")),
    ("razorpay", include_str!("catalogue/razorpay.toml")),
    ("resend", include_str!("catalogue/resend.toml")),
    ("sendgrid", include_str!("catalogue/sendgrid.toml")),
    (
        "sendgrid-inbound-parse",
        include_str!("catalogue/sendgrid-inbound-parse.toml"),
    ),
    ("sentry", include_str!("catalogue/sentry.toml")),
    ("shopify", include_str!("catalogue/shopify.toml")),
    ("slack", include_str!("catalogue/slack.toml")),
    ("square", include_str!("catalogue/square.toml")),
    (
        "standard-webhooks",
        include_str!("catalogue/standard-webhooks.toml"),
    ),
    ("stripe", include_str!("catalogue/stripe.toml")),
    ("svix", include_str!("catalogue/svix.toml")),
    ("telegram", include_str!("catalogue/telegram.toml")),
    ("trello", include_str!("catalogue/trello.toml")),
    ("twilio", include_str!("catalogue/twilio.toml")),
    ("twitch", include_str!("catalogue/twitch.toml")),
    ("typeform", include_str!("catalogue/typeform.toml")),
    ("vercel", include_str!("catalogue/vercel.toml")),
    ("woocommerce", include_str!("catalogue/woocommerce.toml")),
    ("xero", include_str!("catalogue/xero.toml")),
    ("zendesk", include_str!("catalogue/zendesk.toml")),
    ("zoom", include_str!("catalogue/zoom.toml")),
];

/// An unreadable file would be missing here; a test reads every one.
static PROVIDERS: LazyLock<Vec<Provider>> = LazyLock::new(|| {
    FILES
        .iter()
        .filter_map(|(name, text)| load(name, text).ok())
        .collect()
});

/// Everything known about a provider.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provider {
    /// The name in kebab-case, which is also the file name.
    #[serde(skip)]
    pub name: String,
    /// The name as the provider writes it.
    pub title: String,
    /// Where the provider documents its webhooks.
    pub docs: Vec<String>,
    /// The prefix of a generated secret, so that it looks like the provider's own.
    #[serde(default)]
    pub secret_prefix: String,
    /// A description of the handshake that the provider performs before it delivers events.
    #[serde(default)]
    pub handshake: Option<String>,
    /// The handshakes that are answered.
    #[serde(default)]
    pub handshakes: Vec<Handshake>,
    /// Whether a secret is required.
    #[serde(default)]
    pub secrets: SecretNeed,
    /// Whether it also delivers by GET, with a form in the query.
    #[serde(default)]
    pub delivers_by_get: bool,
    /// Options that it needs in addition to its secrets.
    #[serde(default)]
    pub options: Vec<OptionSpec>,
    /// Decisions that receivers may make either way, and the one made here.
    #[serde(default)]
    pub choices: Vec<Choice>,
    /// Common pitfalls.
    #[serde(default)]
    pub notes: Vec<String>,
    /// How it proves its identity.
    pub proof: Proof,
    /// Where its ids and types are.
    pub identity: IdentityRule,
    /// What it requires of the responses to its deliveries.
    #[serde(default)]
    pub answer: AnswerRule,
    /// How it delivers.
    pub delivery: Delivery,
    /// The networks that its requests come from, if it publishes them and announces changes.
    #[serde(default)]
    pub addresses: Option<Addresses>,
    /// How reliable each part of this information is.
    pub confidence: Confidence,
    /// A sample delivery.
    pub sample: SampleTemplate,
}

/// The networks that a provider sends from. They become outdated, so using them is optional.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Addresses {
    /// Addresses and networks, such as `203.0.113.7` and `203.0.113.0/24`.
    pub networks: Vec<String>,
    /// Where the provider publishes them.
    pub published: String,
    /// The month in which this copy of the list was made.
    pub as_of: String,
}

/// A decision that another receiver may make differently.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// The test vector that shows it.
    pub vector: String,
    /// Whether such a delivery is accepted.
    pub accept: bool,
    /// The reason.
    pub why: String,
}

impl Provider {
    /// How its requests are verified.
    pub fn recipe(&self) -> Recipe {
        Recipe {
            proof: self.proof.clone(),
            identity: self.identity.clone(),
            handshakes: self.handshakes.clone(),
            secrets: self.secrets,
            delivers_by_get: self.delivers_by_get,
        }
    }

    /// Options for samples, if none are configured.
    pub fn sample_options(&self) -> Options {
        let sample = |option: &OptionSpec| {
            let text = option.sample.clone()?;
            let value = match option.kind {
                OptionKind::Text | OptionKind::Secret => OptionValue::Text(text),
                OptionKind::List => OptionValue::List(vec![text]),
                OptionKind::Table => return None,
            };
            Some((option.name.clone(), value))
        };
        self.options.iter().filter_map(sample).collect()
    }
}

/// How a provider delivers.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delivery {
    /// How long a failed delivery is retried, in hours; `None` if unknown. The ledger must remember longer than this.
    #[serde(default)]
    pub retry_window_hours: Option<f64>,
    /// How long the provider waits for a response; `None` if unknown.
    #[serde(default)]
    pub timeout_seconds: Option<u32>,
    /// The documented maximum size of its bodies, in bytes, if it is large.
    #[serde(default)]
    pub body_bytes_max: Option<u64>,
    /// Whether the signature covers the event id.
    pub id_is_signed: bool,
    /// Whether the signature covers every byte of the body. If it does not, someone who sees one request can forge
    /// others.
    #[serde(default = "yes")]
    pub body_is_signed: bool,
    /// Can two different events have the same id? `no`, `yes` or `unknown`, and why.
    pub id_uniqueness: String,
    /// Can one event arrive under two ids? `no`, `yes` or `unknown`, and why.
    pub id_stability: String,
    /// A description of its retries.
    pub retry_policy: String,
}

/// How reliable the information about a provider is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Confidence {
    /// About its signatures.
    pub verification: Grade,
    /// About its ids and types.
    pub event: Grade,
    /// About its deliveries and retries.
    pub delivery: Grade,
}

/// A degree of certainty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Grade {
    /// Read in the provider's own documentation or source.
    A,
    /// Quoted from another source, or several implementations agree.
    B,
    /// From memory, not verified.
    C,
}

/// A sample delivery with placeholders for the id.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampleTemplate {
    /// The shape of the provider's ids.
    #[serde(default)]
    pub id: IdShape,
    /// Headers in addition to those of the signature; `{id}` is replaced.
    pub headers: BTreeMap<String, String>,
    /// The header with the sending time in Unix seconds, if the provider does not sign it.
    #[serde(default)]
    pub time_header: Option<String>,
    /// The body; the string `"{id}"` is replaced, and `"{number}"` by a bare number if the id is one.
    pub body: String,
}

/// The provider with this name.
pub fn get(name: &str) -> Option<&'static Provider> {
    all().iter().find(|provider| provider.name == name)
}

/// All providers, sorted by name.
pub fn all() -> &'static [Provider] {
    &PROVIDERS
}

fn yes() -> bool {
    true
}

fn load(name: &str, text: &str) -> Result<Provider, toml::de::Error> {
    let mut provider: Provider = toml::from_str(text)?;
    name.clone_into(&mut provider.name);
    let is_timed = provider
        .proof
        .scheme()
        .is_some_and(|scheme| scheme.timestamp.is_some());
    if is_timed {
        provider.options.push(tolerance());
    }
    Ok(provider)
}

/// Every provider whose scheme signs a time has this option, so its file does not need to list it.
fn tolerance() -> OptionSpec {
    OptionSpec {
        name: "tolerance_seconds".to_owned(),
        about:
            "How many seconds the signed time may be off, in both directions; the provider's own by default."
                .to_owned(),
        kind: OptionKind::Text,
        required: false,
        sample: None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;
    use crate::identity::ValuePath;
    use crate::scheme::TimestampPath;
    use crate::sign::{ProviderSigner, generate_secret};
    use crate::{Field, IdClass, Identification, OnConflict, Request, Verification, Verifier, sample};

    #[test]
    fn every_file_is_read_and_registered() {
        for (name, text) in FILES {
            let provider = load(name, text).unwrap_or_else(|error| panic!("{name}: {error}"));
            provider
                .proof
                .check()
                .unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        let registered: BTreeSet<String> = all().iter().map(|provider| provider.name.clone()).collect();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/catalogue");
        let files: BTreeSet<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| {
                entry
                    .unwrap()
                    .path()
                    .file_stem()
                    .unwrap()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect();
        assert_eq!(registered, files);
        assert!(FILES.is_sorted());
    }

    #[test]
    fn every_preset_says_what_its_ids_are_worth_and_why() {
        for provider in all() {
            let (name, rule) = (&provider.name, &provider.identity);
            assert_eq!(rule.class, rule.event_id.class(), "{name}");
            assert!(rule.earlier.is_none() || rule.version > 1, "{name}");
            assert!(
                rule.earlier.is_none() || rule.class != IdClass::NotDeduplicated,
                "{name}: an event that is not deduplicated has no earlier id"
            );
            let delivery = &provider.delivery;
            for answer in [&delivery.id_uniqueness, &delivery.id_stability] {
                let (word, why) = answer.split_once([':', ',']).unwrap_or((answer, ""));
                assert!(["no", "yes", "unknown"].contains(&word), "{name}: {answer}");
                assert!(why.len() > 10, "{name}: {answer}");
            }
            let repeats = delivery.id_uniqueness.starts_with("yes");
            assert_eq!(repeats, rule.on_conflict == OnConflict::Accept, "{name}");
        }
    }

    #[test]
    fn header_names_are_in_lower_case_as_lookups_are() {
        for provider in all() {
            let Some(scheme) = provider.proof.scheme() else {
                continue;
            };
            let mut names: Vec<&String> = scheme.headers.iter().chain(&scheme.id_headers).collect();
            names.extend(scheme.fixed_headers.keys());
            names.extend(scheme.named_keys.iter().map(|named| &named.header));
            names.extend(scheme.signatures.iter().filter_map(|kind| kind.header.as_ref()));
            if let Some(TimestampPath::Headers(headers)) = scheme.timestamp.as_ref().map(|rule| &rule.path) {
                names.extend(headers);
            }
            for name in names {
                assert_eq!(*name, name.to_ascii_lowercase(), "{}", provider.name);
            }
        }
    }

    #[test]
    fn a_signed_sample_with_a_generated_secret_verifies_and_has_its_id() {
        for provider in all() {
            let (name, options) = (&provider.name, provider.sample_options());
            let secret = generate_secret(provider, &[7; 32]);
            let signer = ProviderSigner::new(provider, &secret.signing, &options).unwrap();
            let mut delivery = sample::of_provider(provider, "sample_1").delivery(1_767_225_600);
            "https://hooks.example.com/in".clone_into(&mut delivery.url);
            let delivery = signer.sign(delivery);
            let verifier = Verifier::new(&provider.recipe(), &[secret.verifying], &options).unwrap();
            let request = Request::new(&delivery.headers, &delivery.body, 1_767_225_600).url(&delivery.url);
            let Verification::Events(events) = verifier.verify(&request).unwrap() else {
                panic!("{name}")
            };
            let event = &events[0];
            match event.identification {
                Identification::Never => assert!(provider.identity.event_id.is_none(), "{name}"),
                Identification::Missing => panic!("{name}"),
                Identification::ByProvider if is_hash(&provider.identity) => {}
                Identification::ByProvider => assert!(event.event_id.contains("sample_1"), "{name}"),
            }
            assert!(event.event_type.is_some(), "{name}");
            assert_eq!(event.id_is_signed, provider.delivery.id_is_signed, "{name}");
        }
    }

    /// Whether the id consists only of hashes.
    fn is_hash(rule: &IdentityRule) -> bool {
        let mut places = rule.event_id.fields().flat_map(Field::paths);
        places.all(|place| {
            matches!(
                place,
                ValuePath::BodySha256 | ValuePath::RequestSha256 | ValuePath::Index
            )
        })
    }
}
