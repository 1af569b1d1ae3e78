//! `[sources.NAME]`.

mod allow_from;
mod options;
mod redact;
mod same_body;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use hapax_core::store::is_pointer;
use hapax_core::{Scope, Secret, SourceName};
use hapax_engine::SameBody;
use hapax_verify::{
    CustomScheme, Field, FieldList, Handshake, IdRule, IdentityRule, OnConflict, Options, Proof, Recipe,
    SecretNeed, SetupError, Verifier, catalogue,
};
use http::StatusCode;
use serde::Deserialize as _;

use super::keys::{REDIS, VERIFY};
use super::name::parse_name;
use super::nearest::suggestion;
use super::rate::Rate;
use super::section::Section;
use super::server::{Server, parse_body_limit, parse_public_url};
use crate::redact::Redaction;
pub use allow_from::AllowFrom;
use hapax_api::duration::format_duration;

const DAY: Duration = Duration::from_secs(86_400);
/// The retry window assumed for a provider whose retry window is not known: three days, as is common.
const RETRY_WINDOW_UNKNOWN: Duration = Duration::from_secs(72 * 3600);
const LEDGER_DEFAULT: Duration = Duration::from_secs(30 * 86_400);
const PAYLOAD_DEFAULT: Duration = Duration::from_secs(14 * 86_400);
const DEAD_DEFAULT: Duration = Duration::from_secs(30 * 86_400);
/// The maximum is ten years. Longer would be forever, and forever is not a limit.
const WINDOW: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(3650 * 86_400);
/// How long `ack = "processed"` waits, unless the provider's timeout is shorter.
const ACK_TIMEOUT_DEFAULT: Duration = Duration::from_millis(1_500);
const ACK_TIMEOUT: RangeInclusive<Duration> = Duration::from_millis(10)..=Duration::from_secs(60);
/// The most destinations per source.
const DELIVER_TO_MAX: usize = 64;
/// The most indexed fields per source: each adds a row to every event.
const INDEXED_MAX: usize = 8;

/// The number of replicas to wait for: a cluster has only a few per master.
const WAIT: RangeInclusive<u32> = 0..=5;

/// A configured source of webhooks.
#[derive(Clone, Debug)]
pub struct Source {
    /// Webhooks arrive at `/in/<name>`.
    pub name: SourceName,
    /// The preset, if any.
    pub provider: Option<&'static catalogue::Provider>,
    /// The `verify` table as written, if there is no preset.
    pub verify: Option<toml::Value>,
    /// How requests are verified: by the preset, or by the `verify` table.
    pub recipe: Recipe,
    /// Settings that the preset needs in addition to its secrets.
    pub options: Options,
    /// The signing secrets, in order.
    pub secrets: Vec<Secret>,
    /// Verifies requests; compiled from the three fields above.
    pub verifier: Arc<Verifier>,
    /// The URL that the provider calls, if it is not the service's public URL plus the source's path.
    pub public_url: Option<String>,
    /// The largest accepted body, in bytes.
    pub body_limit: u64,
    /// The names of the destinations that receive its events.
    pub deliver_to: Vec<String>,
    /// The scope in which its event ids are unique.
    pub scope: Scope,
    /// How long an event id is remembered.
    pub ledger_window: Duration,
    /// How long bodies are kept.
    pub payload_retention: Duration,
    /// How long bodies of dead deliveries are kept.
    pub dead_retention: Duration,
    /// The status for a new event: 200 or 202.
    pub ack_status: StatusCode,
    /// When a request is answered.
    pub ack: Ack,
    /// The highest rate of accepted requests.
    pub rate_limit: Option<Rate>,
    /// JSON Pointers to the body fields that are indexed.
    pub indexed: Vec<String>,
    /// Body fields that are hidden from people.
    pub redact: Redaction,
    /// For a Redis store: how many replicas must have stored an event before the request is answered.
    pub redis_wait: u8,
    /// How to treat a known body that arrives under a new id.
    pub same_body: SameBody,
    /// The networks that requests may come from; `None` allows any.
    pub allow_from: Option<AllowFrom>,
}

impl Source {
    /// Whether the provider sends its signing secret in a handshake.
    pub fn hands_secrets_over(&self) -> bool {
        self.recipe.handshakes.contains(&Handshake::AsanaSecret)
    }
}

/// When a request is answered 2xx.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ack {
    /// When the event is durable.
    Stored,
    /// When every destination has processed the event.
    Processed {
        /// How long to wait for that.
        limit: Duration,
    },
}

pub(super) fn read(name: &str, server: &Server, mut section: Section<'_, '_, '_>) -> Option<Source> {
    let provider = read_provider(&mut section);
    let public_url = section.parsed("public_url", parse_public_url);
    let body_limit = section.parsed("body_limit", parse_body_limit);
    let body_limit = body_limit.unwrap_or_else(|| body_limit_of(provider, server));
    let need = provider.map_or(SecretNeed::Required, |provider| provider.secrets);
    let secrets = read_secrets(&mut section, need);
    let deliver_to = read_deliver_to(&mut section);
    let scope = section
        .parsed("scope", parse_name)
        .unwrap_or_else(|| name.to_owned());
    let rate_limit = section.parsed("rate_limit", str::parse::<Rate>);
    let indexed = read_indexed(&mut section);
    let redact = redact::read(&mut section);
    let ack_status = read_ack_status(&mut section, provider);
    let event_id = read_event_id(&mut section);
    let event_type = read_fields(&mut section, "event_type");
    let windows = read_windows(&mut section, provider);
    let ack = read_ack(&mut section, provider);
    let options = options::read(&mut section, provider);
    let redis_wait = read_redis_wait(&mut section);
    let allow_from = allow_from::read(&mut section, provider);
    let on_conflict = read_on_conflict(&mut section);
    let custom = read_verify(&mut section);
    let (mut recipe, verify) = match (provider, custom) {
        (Some(provider), _) => {
            let mut recipe = provider.recipe();
            if let Some(event_id) = event_id {
                recipe.identity = recipe.identity.with_event_id(event_id);
            }
            recipe.identity.event_type = event_type.or(recipe.identity.event_type);
            (recipe, None)
        }
        (None, Some((proof, verify))) => {
            if !section.has("event_id") {
                section.missing(
                    "event_id",
                    "without a preset, say where the sender's id is, such as \"header:x-event-id\" or \"body:/id\"",
                );
            }
            let identity = IdentityRule::new(event_id?, event_type);
            (Recipe::custom(proof, identity), Some(verify))
        }
        (None, None) => return None,
    };
    recipe.identity.on_conflict = on_conflict.unwrap_or(recipe.identity.on_conflict);
    if public_url.is_none() && server.public_url.is_none() && recipe.proof.covers_url() {
        section.problem(
            if section.has("verify") {
                "verify"
            } else {
                "provider"
            },
            "the signature covers the URL; set `server.public_url`, or `public_url` here, to the one that the sender calls",
        );
    }
    let secrets = secrets?;
    let exposed: Vec<&str> = secrets.iter().map(Secret::expose).collect();
    let verifier = match Verifier::new(&recipe, &exposed, &options) {
        Ok(verifier) => Arc::new(verifier),
        Err(error) => {
            report_setup(&mut section, &error);
            return None;
        }
    };
    let same_body = same_body::read(&mut section, recipe.identity.class, &verifier);
    Some(Source {
        name: SourceName::from(name),
        provider,
        verify,
        recipe,
        options,
        secrets,
        verifier,
        public_url,
        body_limit,
        deliver_to,
        scope: Scope::from(scope),
        ledger_window: windows.ledger,
        payload_retention: windows.payload,
        dead_retention: windows.dead,
        ack_status,
        ack,
        rate_limit,
        indexed,
        redact,
        redis_wait,
        same_body,
        allow_from,
    })
}

/// A preset knows its provider's largest body, and no such body is refused because of a lower general limit.
fn body_limit_of(provider: Option<&catalogue::Provider>, server: &Server) -> u64 {
    let senders = provider.and_then(|provider| provider.delivery.body_bytes_max);
    senders.unwrap_or_default().max(server.body_limit)
}

/// All of them or none: a missing secret would shift the indexes that are used to monitor rotation.
fn read_secrets(section: &mut Section<'_, '_, '_>, need: SecretNeed) -> Option<Vec<Secret>> {
    let Some(references) = section.texts("secrets") else {
        if !section.has("secrets") {
            if need == SecretNeed::Optional {
                return Some(Vec::new());
            }
            section.missing(
                "secrets",
                "without one nothing can be verified; add it like secrets = [\"env:NAME\"]",
            );
        }
        return None;
    };
    if references.is_empty() && need == SecretNeed::Required {
        section.problem(
            "secrets",
            "the list is empty, and without a secret nothing can be verified; add one like \"env:NAME\"",
        );
        return None;
    }
    let secrets: Vec<Option<Secret>> = references
        .iter()
        .map(|(path, reference)| section.report.secret(path, reference))
        .collect();
    secrets.into_iter().collect()
}

fn read_deliver_to(section: &mut Section<'_, '_, '_>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (path, name) in section.texts("deliver_to").unwrap_or_default() {
        if names.contains(&name) {
            section.report.problem(
                &path,
                format_args!("`{name}` is listed twice; an event goes there once"),
            );
        } else {
            names.push(name);
        }
    }
    if names.len() > DELIVER_TO_MAX {
        section.problem(
            "deliver_to",
            format_args!("at most {DELIVER_TO_MAX} destinations"),
        );
    }
    names
}

fn read_indexed(section: &mut Section<'_, '_, '_>) -> Vec<String> {
    let mut pointers: Vec<String> = Vec::new();
    for (path, pointer) in section.texts("indexed").unwrap_or_default() {
        if !is_pointer(&pointer) {
            section.report.problem(
                &path,
                format_args!("`{pointer}` is not a JSON pointer; write it like \"/data/object/id\""),
            );
        } else if pointers.contains(&pointer) {
            section
                .report
                .problem(&path, format_args!("`{pointer}` is listed twice; once is enough"));
        } else {
            pointers.push(pointer);
        }
    }
    if pointers.len() > INDEXED_MAX {
        section.problem("indexed", format_args!("at most {INDEXED_MAX} fields"));
    }
    pointers
}

fn read_redis_wait(section: &mut Section<'_, '_, '_>) -> u8 {
    let path = section.path("redis");
    let table = section
        .table("redis")
        .and_then(|value| value.get_ref().as_table());
    let mut section = Section::open(path, &REDIS, table, BTreeMap::new(), section.report);
    section.integer("wait", 0, &WAIT) as u8
}

/// The limit leaves the provider time to receive the response: at most a quarter of its timeout, if that is known.
fn read_ack(section: &mut Section<'_, '_, '_>, provider: Option<&catalogue::Provider>) -> Ack {
    let senders = provider.and_then(|provider| provider.delivery.timeout_seconds);
    let quarter = senders.map(|seconds| Duration::from_secs(seconds.into()) / 4);
    let default = quarter.unwrap_or(ACK_TIMEOUT_DEFAULT).min(ACK_TIMEOUT_DEFAULT);
    let limit = section.duration("ack_timeout", default, &ACK_TIMEOUT);
    if let Some(seconds) = senders.filter(|seconds| limit >= Duration::from_secs((*seconds).into())) {
        section.problem(
            "ack_timeout",
            format_args!("the sender waits {seconds} s for an answer and would not hear this one; use less"),
        );
    }
    if section.choice("ack", &["stored", "processed"]) == Some("processed") {
        return Ack::Processed { limit };
    }
    if section.has("ack_timeout") {
        section.problem(
            "ack_timeout",
            "has no meaning without `ack = \"processed\"`; remove it, or set that",
        );
    }
    Ack::Stored
}

/// `None` if the preset decides.
fn read_on_conflict(section: &mut Section<'_, '_, '_>) -> Option<OnConflict> {
    let word = section.choice("on_conflict", &["keep", "accept"])?;
    Some(if word == "accept" {
        OnConflict::Accept
    } else {
        OnConflict::Keep
    })
}

fn read_ack_status(section: &mut Section<'_, '_, '_>, provider: Option<&catalogue::Provider>) -> StatusCode {
    let status = section.integer("ack_status", 200, &(200..=202));
    let only = provider.and_then(|provider| provider.answer.status);
    if let (Some(only), Some(provider)) = (only, provider)
        && section.has("ack_status")
        && u32::from(only) != status
    {
        section.problem(
            "ack_status",
            format_args!("{} takes only {only} for success; remove it", provider.title),
        );
    }
    match status {
        202 => StatusCode::ACCEPTED,
        200 => StatusCode::OK,
        other => {
            section.problem("ack_status", format_args!("{other} is not 200 or 202"));
            StatusCode::OK
        }
    }
}

/// `none` is for providers without event ids: none of their events is a duplicate.
fn read_event_id(section: &mut Section<'_, '_, '_>) -> Option<IdRule> {
    match section.text_or_texts("event_id")?.as_slice() {
        [(_, text)] if text == "none" => Some(IdRule::NONE),
        _ => read_fields(section, "event_id").map(IdRule::from),
    }
}

fn read_fields(section: &mut Section<'_, '_, '_>, name: &str) -> Option<FieldList> {
    let mut fields: Vec<Field> = Vec::new();
    for (path, text) in section.text_or_texts(name)? {
        match text.parse() {
            Ok(field) => fields.push(field),
            Err(error) => {
                let error: SetupError = error;
                section.report.problem(&path, error);
                return None;
            }
        }
    }
    FieldList::new(fields)
        .map_err(|error| section.problem(name, error))
        .ok()
}

fn read_provider(section: &mut Section<'_, '_, '_>) -> Option<&'static catalogue::Provider> {
    match (section.has("provider"), section.has("verify")) {
        (true, true) => section.problem(
            "verify",
            "a source has a `provider` or a `verify` table, not both; remove one",
        ),
        (false, false) => section.missing(
            "provider",
            "name a preset (`hapax providers` lists them), or say with `verify` how the sender signs",
        ),
        (true, false) | (false, true) => {}
    }
    section.parsed("provider", |name| {
        catalogue::get(name).ok_or_else(|| {
            let meant = suggestion(
                name,
                catalogue::all().iter().map(|provider| provider.name.as_str()),
            );
            format!("\"{name}\" is not in the catalogue; `hapax providers` lists what is{meant}")
        })
    })
}

fn read_verify(section: &mut Section<'_, '_, '_>) -> Option<(Proof, toml::Value)> {
    let value = section.table("verify")?;
    let path = section.path("verify");
    let problems = section.report.problems.len();
    // Opened to report its unknown keys, with the closest known key as a suggestion.
    Section::open(
        path.clone(),
        &VERIFY,
        value.get_ref().as_table(),
        BTreeMap::new(),
        section.report,
    );
    if section.report.problems.len() > problems {
        return None;
    }
    let deserializer = toml::de::ValueDeserializer::from(value.clone());
    let custom = match CustomScheme::deserialize(deserializer) {
        Ok(custom) => custom,
        Err(error) => {
            let place = section.report.place_of(&error.span().unwrap_or(value.span()));
            section
                .report
                .problem_at(place, format!("{path}: {}", error.message()));
            return None;
        }
    };
    let written = toml::Value::deserialize(toml::de::ValueDeserializer::from(value.clone())).ok()?;
    let proof = Proof::try_from(custom)
        .map_err(|error| section.problem("verify", error))
        .ok()?;
    Some((proof, written))
}

struct Windows {
    ledger: Duration,
    payload: Duration,
    dead: Duration,
}

fn read_windows(section: &mut Section<'_, '_, '_>, provider: Option<&catalogue::Provider>) -> Windows {
    let ledger = section.duration("ledger_window", LEDGER_DEFAULT, &WINDOW);
    check_ledger(section, provider, ledger);
    // The defaults are shortened to fit a short ledger window. Configured values are not.
    let payload = section.duration("payload_retention", PAYLOAD_DEFAULT.min(ledger), &WINDOW);
    let dead = section.duration("dead_retention", DEAD_DEFAULT.min(ledger), &WINDOW);
    for (name, retention) in [("payload_retention", payload), ("dead_retention", dead)] {
        if retention > ledger {
            section.problem(
                name,
                format_args!(
                    "{} is longer than `ledger_window`, which is {}: a body goes before its id; shorten the one or \
                     lengthen the other",
                    format_duration(retention),
                    format_duration(ledger)
                ),
            );
        }
    }
    Windows {
        ledger,
        payload,
        dead,
    }
}

/// The shortest `ledger_window`: the provider's retry window plus a day.
pub fn ledger_window_min(provider: Option<&catalogue::Provider>) -> Duration {
    retry_window(provider).unwrap_or(RETRY_WINDOW_UNKNOWN) + DAY
}

fn retry_window(provider: Option<&catalogue::Provider>) -> Option<Duration> {
    let hours = provider?.delivery.retry_window_hours?;
    Duration::try_from_secs_f64(hours * 3600.0).ok()
}

/// A late duplicate that the ledger has already forgotten would take effect a second time.
fn check_ledger(section: &mut Section<'_, '_, '_>, provider: Option<&catalogue::Provider>, ledger: Duration) {
    let known = retry_window(provider);
    let least = ledger_window_min(provider);
    if ledger >= least {
        return;
    }
    let sender = provider.map_or("the sender", |provider| provider.title.as_str());
    let repeats = match known {
        Some(window) => format!("{sender} delivers again for up to {}", format_duration(window)),
        None => format!(
            "how long {sender} delivers again is not known, and counts as {}",
            format_duration(RETRY_WINDOW_UNKNOWN)
        ),
    };
    section.problem(
        "ledger_window",
        format_args!(
            "{} forgets ids too early: {repeats}, and a late copy would take effect twice; use at least {}",
            format_duration(ledger),
            format_duration(least)
        ),
    );
}

fn report_setup(section: &mut Section<'_, '_, '_>, error: &SetupError) {
    match error {
        SetupError::Secret { position, problem } => {
            let path = section.path(&format!("secrets.{}", position.saturating_sub(1)));
            section.report.problem(&path, problem);
        }
        SetupError::NoSecrets | SetupError::TooManySecrets { .. } => section.problem("secrets", error),
        _ => {
            let at = if section.has("verify") {
                "verify"
            } else {
                "provider"
            };
            section.problem(at, error);
        }
    }
}
