//! A preset as JSON.

use hapax_verify::catalogue::{Choice, Provider};
use hapax_verify::scheme::{HeaderFormat, TimestampPath};
use hapax_verify::{OptionKind, OptionSpec, SecretNeed};
use serde_json::{Value, json};

use super::words;

pub(super) fn of(provider: &Provider) -> Value {
    json!({
        "name": provider.name,
        "title": provider.title,
        "docs": provider.docs,
        "scheme": provider.proof.summary(),
        "is_signed": words::is_signed(&provider.proof),
        "signature": signature(provider),
        "event_id": provider.identity.event_id.to_string(),
        "event_type": provider.identity.event_type.as_ref().map(ToString::to_string),
        "id_class": provider.identity.class.as_str(),
        "id_version": provider.identity.version,
        "on_conflict": provider.identity.on_conflict.as_str(),
        "changing": provider.identity.changing.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "id_is_signed": provider.delivery.id_is_signed,
        "id_uniqueness": provider.delivery.id_uniqueness,
        "id_stability": provider.delivery.id_stability,
        "retry_window_hours": provider.delivery.retry_window_hours,
        "retry_policy": provider.delivery.retry_policy,
        "timeout_seconds": provider.delivery.timeout_seconds,
        "body_bytes_max": provider.delivery.body_bytes_max,
        "addresses": provider.addresses.as_ref().map(|addresses| json!({
            "networks": addresses.networks,
            "published": addresses.published,
            "as_of": addresses.as_of,
        })),
        "handshake": provider.handshake,
        "secrets": match provider.secrets {
            SecretNeed::Required => "required",
            SecretNeed::Optional => "optional",
        },
        "options": provider.options.iter().map(option).collect::<Vec<_>>(),
        "confidence": {
            "verification": words::grade(provider.confidence.verification),
            "event": words::grade(provider.confidence.event),
            "delivery": words::grade(provider.confidence.delivery),
        },
        "choices": provider.choices.iter().map(choice).collect::<Vec<_>>(),
        "notes": provider.notes,
    })
}

fn signature(provider: &Provider) -> Value {
    let scheme = provider.proof.scheme();
    let timestamp = scheme.and_then(|scheme| scheme.timestamp.as_ref());
    json!({
        "summary": provider.proof.summary(),
        "headers": provider.proof.headers(),
        "format": scheme.map(|scheme| format_name(&scheme.format)),
        "timestamp": timestamp.map(|rule| timestamp_place(&rule.path)),
        "tolerance_seconds": provider.proof.tolerance_seconds(),
        "covers_url": provider.proof.covers_url(),
    })
}

fn option(option: &OptionSpec) -> Value {
    json!({
        "name": option.name,
        "about": option.about,
        "kind": match option.kind {
            OptionKind::Text => "text",
            OptionKind::Secret => "secret",
            OptionKind::List => "list",
            OptionKind::Table => "table",
        },
        "required": option.required,
    })
}

fn choice(choice: &Choice) -> Value {
    json!({ "vector": choice.vector, "accept": choice.accept, "why": choice.why })
}

pub(super) fn timestamp_place(place: &TimestampPath) -> String {
    match place {
        TimestampPath::Headers(names) => format!("header {}", names.join(" or ")),
        TimestampPath::Body(pointer) => format!("body:{pointer}"),
        TimestampPath::Key(key) => format!("`{key}` in the signature's header"),
    }
}

fn format_name(format: &HeaderFormat) -> &'static str {
    match format {
        HeaderFormat::Plain { .. } => "plain",
        HeaderFormat::KeyValue => "key-value",
        HeaderFormat::Labelled => "labelled",
    }
}
