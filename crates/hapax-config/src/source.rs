//! `[sources.NAME]`.

mod ack;
mod allow_from;
mod identity;
mod options;
mod redact;
mod same_body;
mod verify;
mod windows;

use std::sync::Arc;
use std::time::Duration;

use hapax_core::json_pointer::is_pointer;
use hapax_core::{Scope, Secret, SourceName};
use hapax_engine::SameBody;
use hapax_verify::{
    FieldList, Handshake, IdRule, IdentityRule, Options, Proof, Recipe, SecretNeed, SetupError, Verifier,
    catalogue,
};
use http::StatusCode;

use super::name::parse_name;
use super::nearest::suggestion;
use super::rate::Rate;
use super::section::Section;
use super::server::{BODY_LIMIT_RANGE, Server, parse_public_url};
use super::setting::{Key, Size, Table};
use crate::redact::Redaction;
pub use ack::Ack;
use ack::{ACK, ACK_STATUS, ACK_TIMEOUT};
use allow_from::ALLOW_FROM;
pub use allow_from::AllowFrom;
use identity::{EVENT_ID, EVENT_TYPE, ON_CONFLICT};
use options::OPTIONS;
use redact::REDACT;
use same_body::SAME_BODY;
pub(super) use verify::VERIFY;
use verify::VERIFY_TABLE;
pub use windows::ledger_window_min;
use windows::{DEAD_RETENTION, LEDGER_WINDOW, PAYLOAD_RETENTION};

static PROVIDER: Key<String> = Key::optional(
    "provider",
    "A provider of the catalogue (`hapax providers`). Set either this or `verify`.",
);

static SECRETS: Key<Vec<Secret>> = Key::required(
    "secrets",
    "The signing secrets. Any of them may match, so that they can be rotated. Not needed for providers whose keys are fetched or sent in a handshake.",
);

static DELIVER_TO: Key<Vec<String>> = Key::with_default(
    "deliver_to",
    "[]",
    "The destinations of its events. Without any, events are stored and ignored.",
)
.named("list of destinations");

static PUBLIC_URL: Key<String> = Key::depends(
    "public_url",
    "`server.public_url` and `/in/NAME`",
    "The complete URL that the provider calls, if a proxy in between changes the path. Providers that sign the URL sign this one, with the query of the request.",
)
.named("URL");

static BODY_LIMIT: Key<Size> = Key::depends(
    "body_limit",
    "the provider's, or `server.body_limit` if that is larger",
    "The largest body taken; a larger one is answered 413. Presets whose senders document large bodies (GitHub, GitLab, Mailgun, Postmark, SendGrid Inbound Parse) have a fitting one.",
)
.within(BODY_LIMIT_RANGE.0, BODY_LIMIT_RANGE.1);

static SCOPE: Key<String> = Key::depends(
    "scope",
    "the source's name",
    "The scope in which event ids are unique. Sources that share a scope must share `deliver_to`.",
);

static RATE_LIMIT: Key<Rate> = Key::optional(
    "rate_limit",
    "The highest rate of accepted requests, per replica; requests above it are answered 429.",
);

static INDEXED: Key<Vec<String>> = Key::with_default(
    "indexed",
    "[]",
    "Body fields to index, so that events can be searched by value at any store size, such as `[\"/data/object/id\"]`; at most 8. Applies to events that are received after the change.",
)
.named("list of JSON pointers");

static ON_REDIS: Key<toml::Table> = Key::with_default(
    "redis",
    "{}",
    "Settings for a store on Redis; see `[sources.NAME.redis]`.",
);

/// A cluster has only a few replicas per master.
static WAIT: Key<u32> = Key::with_default(
    "wait",
    "0",
    "How many replicas must have an event before it is answered 2xx; if they take too long, the answer is 503. This makes it unlikely, but not impossible, that a failover loses an event.",
)
.within("0", "5");

pub static SOURCE: Table = Table {
    header: "[sources.NAME]",
    help: "A source of webhooks. They arrive at `/in/NAME`.",
    keys: &[
        &PROVIDER,
        &VERIFY_TABLE,
        &SECRETS,
        &DELIVER_TO,
        &ALLOW_FROM,
        &PUBLIC_URL,
        &BODY_LIMIT,
        &EVENT_ID,
        &EVENT_TYPE,
        &ON_CONFLICT,
        &SAME_BODY,
        &SCOPE,
        &LEDGER_WINDOW,
        &PAYLOAD_RETENTION,
        &DEAD_RETENTION,
        &ACK,
        &ACK_TIMEOUT,
        &ACK_STATUS,
        &RATE_LIMIT,
        &INDEXED,
        &REDACT,
        &OPTIONS,
        &ON_REDIS,
    ],
};

pub(super) static REDIS: Table = Table {
    header: "[sources.NAME.redis]",
    help: "Settings of a source for a store on Redis.",
    keys: &[&WAIT],
};

/// The most destinations per source.
const DELIVER_TO_MAX: usize = 64;
/// The most indexed fields per source: each adds a row to every event.
const INDEXED_MAX: usize = 8;

/// A configured source of webhooks.
#[derive(Clone, Debug)]
pub struct Source {
    /// Webhooks arrive at `/in/<name>`.
    pub name: SourceName,
    /// The preset, if any.
    pub provider: Option<&'static catalogue::Provider>,
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

pub(super) fn read(name: &str, server: &Server, section: &mut Section<'_, '_, '_>) -> Option<Source> {
    let provider = read_provider(section);
    let public_url = section.parsed(&PUBLIC_URL, parse_public_url);
    let body_limit = section.get_or(&BODY_LIMIT, || body_limit_of(provider, server)).0;
    let need = provider.map_or(SecretNeed::Required, |provider| provider.secrets);
    let secrets = read_secrets(section, need);
    let deliver_to = read_deliver_to(section);
    let scope = section
        .parsed(&SCOPE, parse_name)
        .unwrap_or_else(|| name.to_owned());
    section.show(&SCOPE, scope.as_str());
    let rate_limit = section.find(&RATE_LIMIT);
    let indexed = read_indexed(section);
    let redact = redact::read(section);
    let ack_status = ack::read_status(section, provider);
    let event_id = identity::read_event_id(section);
    let event_type = identity::read_event_type(section);
    let windows = windows::read(section, provider);
    let ack = ack::read(section, provider);
    let options = options::read(section, provider);
    let redis_wait = read_redis_wait(section);
    let allow_from = allow_from::read(section, provider);
    let on_conflict = section.find(&ON_CONFLICT);
    let custom = verify::read(section);
    let mut recipe = recipe_of(section, provider, custom, event_id, event_type)?;
    recipe.identity.on_conflict = on_conflict.unwrap_or(recipe.identity.on_conflict);
    identity::show(section, &recipe.identity);
    if public_url.is_none() && server.public_url.is_none() && recipe.proof.covers_url() {
        section.problem(
            proof_key(section),
            "the signature covers the URL; set `server.public_url`, or `public_url` of this source, to the URL that \
             the provider calls",
        );
    }
    let secrets = secrets?;
    let exposed: Vec<&str> = secrets.iter().map(Secret::expose).collect();
    let verifier = match Verifier::new(&recipe, &exposed, &options) {
        Ok(verifier) => Arc::new(verifier),
        Err(error) => {
            report_setup(section, &error);
            return None;
        }
    };
    let same_body = same_body::read(section, recipe.identity.class, &verifier);
    Some(Source {
        name: SourceName::from(name),
        provider,
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

/// The provider's recipe with the locations that the file sets, or the recipe that the file describes.
fn recipe_of(
    section: &mut Section<'_, '_, '_>,
    provider: Option<&catalogue::Provider>,
    custom: Option<Proof>,
    event_id: Option<IdRule>,
    event_type: Option<FieldList>,
) -> Option<Recipe> {
    match (provider, custom) {
        (Some(provider), _) => {
            let mut recipe = provider.recipe();
            if let Some(event_id) = event_id {
                recipe.identity = recipe.identity.with_event_id(event_id);
            }
            recipe.identity.event_type = event_type.or(recipe.identity.event_type);
            Some(recipe)
        }
        (None, Some(proof)) => {
            if !section.has(&EVENT_ID) {
                section.missing(
                    &EVENT_ID,
                    "without a provider of the catalogue, set the location of the event id, such as \
                     \"header:x-event-id\" or \"body:/id\"",
                );
            }
            let identity = IdentityRule::new(event_id?, event_type);
            Some(Recipe::custom(proof, identity))
        }
        (None, None) => None,
    }
}

/// A preset knows its provider's largest body, and no such body is refused because of a lower general limit.
fn body_limit_of(provider: Option<&catalogue::Provider>, server: &Server) -> Size {
    let senders = provider.and_then(|provider| provider.delivery.body_bytes_max);
    Size(senders.unwrap_or_default().max(server.body_limit))
}

/// All of them or none: a missing secret would shift the indexes that are used to monitor rotation.
fn read_secrets(section: &mut Section<'_, '_, '_>, need: SecretNeed) -> Option<Vec<Secret>> {
    let Some(references) = section.references(&SECRETS) else {
        if !section.has(&SECRETS) {
            if need == SecretNeed::Optional {
                section.show(&SECRETS, Vec::<String>::new());
                return Some(Vec::new());
            }
            section.missing(
                &SECRETS,
                "without one nothing can be verified; add it like secrets = [\"env:NAME\"]",
            );
        }
        return None;
    };
    if references.is_empty() && need == SecretNeed::Required {
        section.problem(
            &SECRETS,
            "the list is empty, and without a secret nothing can be verified; add one like \"env:NAME\"",
        );
        return None;
    }
    let secrets: Vec<Option<Secret>> = references
        .iter()
        .map(|(path, reference)| section.report.secret(path, reference))
        .collect();
    let hidden = references.iter();
    let hidden = hidden.map(|(path, _)| section.report.origins.hidden(path));
    let hidden: Vec<toml::Value> = hidden.collect();
    section.show(&SECRETS, hidden);
    secrets.into_iter().collect()
}

fn read_deliver_to(section: &mut Section<'_, '_, '_>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (path, name) in section.list(&DELIVER_TO) {
        if names.contains(&name) {
            section.report.problem(
                &path,
                format_args!("`{name}` is listed twice; each event is delivered there once"),
            );
        } else {
            names.push(name);
        }
    }
    if names.len() > DELIVER_TO_MAX {
        section.problem(&DELIVER_TO, format_args!("at most {DELIVER_TO_MAX} destinations"));
    }
    names
}

fn read_indexed(section: &mut Section<'_, '_, '_>) -> Vec<String> {
    let mut pointers: Vec<String> = Vec::new();
    for (path, pointer) in section.list(&INDEXED) {
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
        section.problem(&INDEXED, format_args!("at most {INDEXED_MAX} fields"));
    }
    pointers
}

fn read_redis_wait(section: &mut Section<'_, '_, '_>) -> u8 {
    let mut inner = section.inner(&ON_REDIS, &REDIS);
    let wait = inner.get(&WAIT);
    let shown = inner.into_value();
    if wait > 0 {
        section.show(&ON_REDIS, shown);
    }
    wait as u8
}

fn read_provider(section: &mut Section<'_, '_, '_>) -> Option<&'static catalogue::Provider> {
    match (section.has(&PROVIDER), section.has(&VERIFY_TABLE)) {
        (true, true) => section.problem(
            &VERIFY_TABLE,
            "a source has a `provider` or a `verify` table, not both; remove one",
        ),
        (false, false) => section.missing(
            &PROVIDER,
            "set a provider of the catalogue (`hapax providers` lists them), or describe the signature with `verify`",
        ),
        (true, false) | (false, true) => {}
    }
    section.parsed(&PROVIDER, |name| {
        catalogue::get(name).ok_or_else(|| {
            let meant = suggestion(
                name,
                catalogue::all().iter().map(|provider| provider.name.as_str()),
            );
            format!("\"{name}\" is not in the catalogue; `hapax providers` lists the known ones{meant}")
        })
    })
}

fn report_setup(section: &mut Section<'_, '_, '_>, error: &SetupError) {
    match error {
        SetupError::Secret { position, problem } => {
            let path = format!("{}.{}", section.path(&SECRETS), position.saturating_sub(1));
            section.report.problem(&path, problem);
        }
        SetupError::NoSecrets | SetupError::TooManySecrets { .. } => section.problem(&SECRETS, error),
        _ => section.problem(proof_key(section), error),
    }
}

/// The key that says how the sender proves itself.
fn proof_key(section: &Section<'_, '_, '_>) -> &'static str {
    if section.has(&VERIFY_TABLE) {
        VERIFY_TABLE.name()
    } else {
        PROVIDER.name()
    }
}
