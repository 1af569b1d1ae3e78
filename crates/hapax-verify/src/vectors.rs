//! Test vectors: deliveries with their expected results. To contribute a provider, provide its vectors.
//!
//! ```
//! use hapax_verify::vectors::{File, Outcome};
//!
//! let file: File = serde_json::from_str(r#"{"provider": "github", "vectors": [{
//!     "name": "unsigned", "secrets": ["s"], "headers": {"X-GitHub-Delivery": "1"}, "body": "{}",
//!     "now": 1767225600, "valid": false
//! }]}"#)?;
//! assert!(file.run()?.iter().all(|outcome| outcome.failure.is_none()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;

use crate::catalogue::{self, Choice, Provider};
use crate::identity::plain;
use crate::keys::KeyRequest;
use crate::options::{OptionValue, Options};
use crate::recipe::SecretNeed;
use crate::rejection::Rejection;
use crate::request::Request;
use crate::setup::SetupError;
use crate::sign::generate_secret;
use crate::verification::{Envelope, HandshakeAnswer, Identification, Verification};
use crate::verifier::Verifier;

/// A file of vectors.
#[derive(Debug, Clone, Deserialize)]
pub struct File {
    /// The provider's name in the catalogue, in which `_` may replace `-`.
    #[serde(default)]
    pub provider: Option<String>,
    /// The vectors of the file.
    pub vectors: Vec<Vector>,
}

/// One delivery or handshake.
#[derive(Debug, Clone, Deserialize)]
pub struct Vector {
    /// A descriptive name.
    pub name: String,
    /// The provider, if the file does not name one.
    #[serde(default)]
    pub provider: Option<String>,
    /// The configured secrets.
    #[serde(default)]
    pub secrets: Vec<String>,
    /// Public keys, which count as secrets.
    #[serde(default)]
    pub public_keys: Option<Vec<String>>,
    /// Options of the source, and available keys: `certificates` by URL, `jwks` by id.
    #[serde(default)]
    pub config: BTreeMap<String, Value>,
    /// The HTTP method; POST by default.
    #[serde(default = "post")]
    pub method: String,
    /// The public URL.
    #[serde(default)]
    pub url: String,
    /// The request headers.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The body as text.
    #[serde(default)]
    pub body: Option<String>,
    /// The body in base64, if it is not text.
    #[serde(default)]
    pub body_base64: Option<String>,
    /// When it arrives, in Unix seconds.
    pub now: i64,
    /// Whether it must be accepted.
    pub valid: bool,
    /// The expected event id: the parts of a composite joined with `:`, unescaped.
    #[serde(default)]
    pub expected_event_id: Option<String>,
    /// The expected ids and types, if there are several events.
    #[serde(default)]
    pub expected_event_ids: Option<Vec<ExpectedEvent>>,
    /// The expected type of the first event.
    #[serde(default)]
    pub expected_event_type: Option<String>,
    /// The expected response to a handshake.
    #[serde(default)]
    pub expected_response: Option<ExpectedResponse>,
    /// A description of the decision, if receivers may make it either way.
    #[serde(default)]
    pub policy: Option<Value>,
}

/// One of several expected events.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ExpectedEvent {
    /// The expected id.
    pub id: Option<String>,
    /// The expected type.
    #[serde(rename = "type")]
    pub event_type: Option<String>,
}

/// The expected response to a handshake.
#[derive(Debug, Clone, Deserialize)]
pub struct ExpectedResponse {
    /// The HTTP status.
    pub status: u16,
    /// The content type, without its parameters.
    #[serde(default)]
    pub content_type: Option<String>,
    /// Headers that must be among those of the response.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The body as text.
    #[serde(default)]
    pub body: Option<String>,
    /// The body as JSON.
    #[serde(default)]
    pub json: Option<Value>,
}

/// The result of a vector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The vector's name.
    pub name: String,
    /// Why it failed; `None` if it passed.
    pub failure: Option<String>,
}

/// Why a file cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VectorError {
    /// It names a provider that is not in the catalogue.
    #[error(
        "vector `{vector}` names the provider `{provider}`, which is not in the catalogue; `hapax providers` lists the known ones"
    )]
    UnknownProvider {
        /// The name of the vector.
        vector: String,
        /// The name of the provider.
        provider: String,
    },
}

fn post() -> String {
    "POST".to_owned()
}

impl File {
    /// Runs every vector.
    pub fn run(&self) -> Result<Vec<Outcome>, VectorError> {
        let run = |vector: &Vector| {
            let name = vector.provider.as_ref().or(self.provider.as_ref());
            let name = name.map(|name| name.replace('_', "-")).unwrap_or_default();
            let provider = catalogue::get(&name).ok_or_else(|| VectorError::UnknownProvider {
                vector: vector.name.clone(),
                provider: name.clone(),
            })?;
            Ok(Outcome {
                name: vector.name.clone(),
                failure: vector.run(provider).err(),
            })
        };
        self.vectors.iter().map(run).collect()
    }
}

impl Vector {
    /// Runs the vector against a provider; the error describes the first difference.
    pub fn run(&self, provider: &Provider) -> Result<(), String> {
        let result = self.verification(provider);
        if let (Err(rejection), Some(expected)) = (&result, &self.expected_response) {
            return equal("status", &expected.status, &rejection.status());
        }
        let choice = provider.choices.iter().find(|choice| choice.vector == self.name);
        match (result, self.valid) {
            (result, _) if choice.is_some() || self.policy.is_some() => self.compare_choice(choice, &result),
            (Err(_), false) => Ok(()),
            (Ok(verification), false) => {
                Err(format!("it should be refused, but is {}", name_of(&verification)))
            }
            (Ok(Verification::Events(events)), true) => self.compare_events(&events),
            (Ok(Verification::Handshake(answer)), true) => self.compare_answer(&answer),
            (Ok(Verification::Registration(registration)), true) => self.compare_answer(&registration.answer),
            (Ok(Verification::Confirmation(confirmation)), true) => self.compare_answer(&confirmation.answer),
            (Ok(Verification::NeedsKey(key)), true) => Err(format!("it needs the key {}", key.key_id)),
            (Err(rejection), true) if self.is_only_unidentified(&rejection) => Ok(()),
            (Err(rejection), true) => Err(format!("it should be accepted: {rejection}")),
        }
    }

    /// The result of the provider's preset, with every key that the vector has.
    pub fn verification(&self, provider: &Provider) -> Result<Verification, Rejection> {
        let verifier = self.verifier(provider).map_err(|error| Rejection::KeyRefused {
            problem: error.to_string(),
        })?;
        let body = self.body();
        let headers: Vec<(&String, &String)> = self.headers.iter().collect();
        let keys = self.keys();
        let request = Request::new(&headers, &body, self.now)
            .method(&self.method)
            .url(&self.url)
            .keys(&keys);
        match verifier.verify(&request)? {
            Verification::NeedsKey(KeyRequest { key_id, .. }) => Err(Rejection::KeyRefused {
                problem: format!("there is no key `{key_id}`"),
            }),
            verification => Ok(verification),
        }
    }

    /// The verifier of a source configured according to the vector.
    pub fn verifier(&self, provider: &Provider) -> Result<Verifier, SetupError> {
        let public = self.public_keys.as_deref().unwrap_or_default();
        let mut secrets: Vec<String> = self.secrets.iter().chain(public).cloned().collect();
        if secrets.is_empty() && provider.secrets == SecretNeed::Required {
            // A handshake that needs no secret is tried on a source that has one.
            secrets.push(generate_secret(provider, &[1; 32]).verifying);
        }
        Verifier::new(&provider.recipe(), &secrets, &self.options())
    }

    /// The bytes of the body.
    pub fn body(&self) -> Vec<u8> {
        match (&self.body, &self.body_base64) {
            (Some(text), _) => text.clone().into_bytes(),
            (None, Some(text)) => STANDARD.decode(text).unwrap_or_default(),
            (None, None) => Vec::new(),
        }
    }

    /// The options of a source configured according to the vector.
    pub fn options(&self) -> Options {
        self.config
            .iter()
            .filter_map(|(name, value)| Some((name.clone(), option_value(value)?)))
            .collect()
    }

    /// The available keys.
    pub fn keys(&self) -> BTreeMap<String, Vec<u8>> {
        let tables = ["certificates", "jwks"]
            .iter()
            .filter_map(|name| self.config.get(*name));
        tables
            .filter_map(Value::as_object)
            .flatten()
            .map(|(id, key)| match key {
                Value::String(text) => (id.clone(), text.clone().into_bytes()),
                other => (id.clone(), other.to_string().into_bytes()),
            })
            .collect()
    }

    /// A published signature without an id: it is valid, but the delivery cannot be identified.
    fn is_only_unidentified(&self, rejection: &Rejection) -> bool {
        let expects_none = self.expected_event_id.is_none() && self.expected_event_ids.is_none();
        let lacks_id = matches!(
            rejection,
            Rejection::EventIdMissing { .. } | Rejection::MalformedBody { .. }
        );
        expects_none && lacks_id
    }

    /// If receivers may choose, the catalogue contains our choice.
    fn compare_choice(
        &self,
        choice: Option<&Choice>,
        result: &Result<Verification, Rejection>,
    ) -> Result<(), String> {
        match (choice, result) {
            // Not one of our choices: either result is right.
            (None, _) => Ok(()),
            (Some(choice), Ok(_)) => equal("accepted", &choice.accept, &true),
            (Some(choice), Err(rejection)) => {
                equal("accepted", &choice.accept, &self.is_only_unidentified(rejection))
            }
        }
    }

    fn compare_events(&self, events: &[Envelope]) -> Result<(), String> {
        let found: Vec<ExpectedEvent> = events.iter().map(seen).collect();
        if let Some(expected) = &self.expected_event_ids {
            equal("events", expected, &found)?;
        } else {
            let first = found.first().and_then(|event| event.id.clone());
            equal("event id", &self.expected_event_id, &first)?;
        }
        let first = found.first().and_then(|event| event.event_type.clone());
        equal("event type", &self.expected_event_type, &first)
    }

    fn compare_answer(&self, answer: &HandshakeAnswer) -> Result<(), String> {
        let Some(expected) = &self.expected_response else {
            return Err("it is not a handshake, but was treated as one".to_owned());
        };
        equal("status", &expected.status, &answer.status)?;
        if let Some(content_type) = &expected.content_type {
            let found = header(answer, "content-type").unwrap_or_default();
            let found = found.split(';').next().unwrap_or_default();
            equal("content type", &content_type.as_str(), &found)?;
        }
        for (name, value) in &expected.headers {
            equal(name, &Some(value.as_str()), &header(answer, name))?;
        }
        if let Some(body) = &expected.body {
            equal("body", body, &String::from_utf8_lossy(&answer.body).into_owned())?;
        }
        if let Some(json) = &expected.json {
            equal(
                "body",
                &Some(json),
                &serde_json::from_slice(&answer.body).ok().as_ref(),
            )?;
        }
        Ok(())
    }
}

fn seen(event: &Envelope) -> ExpectedEvent {
    ExpectedEvent {
        id: match event.identification {
            Identification::ByProvider => Some(plain(&event.event_id)),
            Identification::Never | Identification::Missing => None,
        },
        event_type: event.event_type.clone(),
    }
}

fn header<'a>(answer: &'a HandshakeAnswer, name: &str) -> Option<&'a str> {
    let found = answer
        .headers
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.as_str())
}

fn equal<T: PartialEq + std::fmt::Debug>(what: &str, expected: &T, found: &T) -> Result<(), String> {
    if expected == found {
        return Ok(());
    }
    Err(format!("{what}: expected {expected:?}, found {found:?}"))
}

fn name_of(verification: &Verification) -> &'static str {
    match verification {
        Verification::Events(_) => "accepted",
        Verification::Handshake(_) => "answered as a handshake",
        Verification::Registration(_) => "treated as a registration",
        Verification::Confirmation(_) => "treated as a confirmation",
        Verification::NeedsKey(_) => "in need of a key",
    }
}

fn option_value(value: &Value) -> Option<OptionValue> {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    Some(match value {
        Value::Array(list) => OptionValue::List(list.iter().filter_map(text).collect()),
        Value::Object(table) => OptionValue::Table(
            table
                .iter()
                .filter_map(|(name, value)| Some((name.clone(), text(value)?)))
                .collect(),
        ),
        scalar => OptionValue::Text(text(scalar)?),
    })
}
