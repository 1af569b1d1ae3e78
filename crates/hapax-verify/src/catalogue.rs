//! The catalogue of providers: one small file of data each.
//!
//! To add a provider, write `catalogue/<name>.toml`, add its line to `FILES`, and its vectors to `tests/vectors`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::sample::IdShape;
use crate::{
    AnswerRule, Handshake, IdentityRule, OptionKind, OptionSpec, OptionValue, Options, Proof, Recipe,
    SecretNeed,
};

/// Name and content of every file, sorted by name.
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

/// A file that cannot be read would be missing here; a test reads every one.
static PROVIDERS: LazyLock<Vec<Provider>> = LazyLock::new(|| {
    FILES
        .iter()
        .filter_map(|(name, text)| load(name, text).ok())
        .collect()
});

/// Everything that is known about a provider.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provider {
    /// The name in kebab-case, which is also the file's.
    #[serde(skip)]
    pub name: String,
    /// The name as the provider writes it.
    pub title: String,
    /// Where the provider documents its webhooks.
    pub docs: Vec<String>,
    /// What a generated secret begins with, so that it looks like the provider's own.
    #[serde(default)]
    pub secret_prefix: String,
    /// What the provider wants answered before it delivers anything, in words.
    #[serde(default)]
    pub handshake: Option<String>,
    /// The same, as it is answered.
    #[serde(default)]
    pub handshakes: Vec<Handshake>,
    /// Whether it can do without a secret.
    #[serde(default)]
    pub secrets: SecretNeed,
    /// Whether it delivers by GET as well, with a form in the query.
    #[serde(default)]
    pub delivers_by_get: bool,
    /// What it needs besides its secrets.
    #[serde(default)]
    pub options: Vec<OptionSpec>,
    /// What a receiver may decide either way, and how it is decided here.
    #[serde(default)]
    pub choices: Vec<Choice>,
    /// What people trip over.
    #[serde(default)]
    pub notes: Vec<String>,
    /// How it proves who it is.
    pub proof: Proof,
    /// Where its ids and types are.
    pub identity: IdentityRule,
    /// What it insists on in the answers to its deliveries.
    #[serde(default)]
    pub answer: AnswerRule,
    /// How it delivers.
    pub delivery: Delivery,
    /// Where its requests come from, where it publishes that and says when it changes.
    #[serde(default)]
    pub addresses: Option<Addresses>,
    /// How well each part of this is known.
    pub confidence: Confidence,
    /// A delivery to try.
    pub sample: SampleTemplate,
}

/// The networks that a provider sends from. They grow old: no one has to use them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Addresses {
    /// Addresses and networks, as `203.0.113.7` and `203.0.113.0/24`.
    pub networks: Vec<String>,
    /// Where the provider publishes them.
    pub published: String,
    /// The month of the list that this is a copy of.
    pub as_of: String,
}

/// A decision that another receiver may take otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// The vector that shows it.
    pub vector: String,
    /// Whether such a delivery is accepted.
    pub accept: bool,
    /// Why.
    pub why: String,
}

impl Provider {
    /// How its requests are judged.
    pub fn recipe(&self) -> Recipe {
        Recipe {
            proof: self.proof.clone(),
            identity: self.identity.clone(),
            handshakes: self.handshakes.clone(),
            secrets: self.secrets,
            delivers_by_get: self.delivers_by_get,
        }
    }

    /// The options of a source that no one has configured, for samples.
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
    /// How long a failed delivery is repeated; `None` if it is not known. The ledger must remember longer than this.
    #[serde(default)]
    pub retry_window_hours: Option<f64>,
    /// How long the provider waits for an answer; `None` if it is not known.
    #[serde(default)]
    pub timeout_seconds: Option<u32>,
    /// How large its bodies may be, in bytes, where it says so and that is much.
    #[serde(default)]
    pub body_bytes_max: Option<u64>,
    /// Whether the signature covers the event id.
    pub id_is_signed: bool,
    /// Whether the signature covers every byte of the body. Where it does not, who sees one request can change another.
    #[serde(default = "yes")]
    pub body_is_signed: bool,
    /// Can two different events have one id? `no`, `yes` or `unknown`, and why.
    pub id_uniqueness: String,
    /// Can one event arrive under two ids? `no`, `yes` or `unknown`, and why.
    pub id_stability: String,
    /// How it repeats, in words.
    pub retry_policy: String,
}

/// How well something is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Confidence {
    /// How it signs.
    pub verification: Grade,
    /// Where its ids and types are.
    pub event: Grade,
    /// How it delivers.
    pub delivery: Grade,
}

/// A degree of certainty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Grade {
    /// Read in the provider's own documentation or source.
    A,
    /// Quoted, or several implementations agree.
    B,
    /// Recalled, and not verified.
    C,
}

/// A delivery with places for the id.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampleTemplate {
    /// What the provider's ids look like.
    #[serde(default)]
    pub id: IdShape,
    /// Headers besides those of the signature; `{id}` is replaced.
    pub headers: BTreeMap<String, String>,
    /// The header that says when the provider sends, in unix seconds, where it does not sign it.
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

/// Every sender whose scheme signs a time takes it, so that no file has to say so.
fn tolerance() -> OptionSpec {
    OptionSpec {
        name: "tolerance_seconds".to_owned(),
        about:
            "How many seconds the signed time may be off, in both directions; the preset's own unless said."
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

    fn stems(folder: &str) -> BTreeSet<String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let entries = std::fs::read_dir(folder).unwrap();
        entries
            .map(|entry| {
                entry
                    .unwrap()
                    .path()
                    .file_stem()
                    .unwrap()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect()
    }

    #[test]
    fn every_file_is_read_and_registered_and_has_vectors() {
        for (name, text) in FILES {
            let provider = load(name, text).unwrap_or_else(|error| panic!("{name}: {error}"));
            provider
                .proof
                .check()
                .unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        let registered: BTreeSet<String> = all().iter().map(|provider| provider.name.clone()).collect();
        assert_eq!(registered, stems("src/catalogue"));
        assert_eq!(registered, stems("tests/vectors"));
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
                "{name}: what is not deduplicated is not looked up under an earlier id"
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
                Identification::BySender if is_hash(&provider.identity) => {}
                Identification::BySender => assert!(event.event_id.contains("sample_1"), "{name}"),
            }
            assert!(event.event_type.is_some(), "{name}");
            assert_eq!(event.id_is_signed, provider.delivery.id_is_signed, "{name}");
        }
    }

    /// Whether nothing of the event stands in its id but hashes.
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
