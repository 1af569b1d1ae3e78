//! The value of a parameter in an event.

use hapax_core::{Leased, json_pointer};
use hapax_verify::identity::ValuePath;
use serde_json::value::RawValue;

use crate::outbox::key_of;
use hapax_config::destination::sql::{Param, ParamType, Presence, Value, ValueFrom};

/// The value in this event. The error never quotes the event.
pub(super) fn value(param: &Param, delivery: &Leased) -> Result<Value, String> {
    let found = find(param, delivery)?;
    let value = match (found, param.presence) {
        (Some(value), _) => value,
        (None, Presence::Optional) => Value::Null,
        (None, Presence::Required) => {
            return Err(format!(
                "the event has no `{}`; correct the path, or mark it: {{ from = \"…\", optional = true }}",
                param.as_written()
            ));
        }
    };
    let Some(kind) = param.kind else {
        return Ok(value);
    };
    cast(kind, value).map_err(|value| {
        format!(
            "`{}` is {}, not of type {}",
            param.as_written(),
            name(&value),
            kind.as_str()
        )
    })
}

fn body(param: &Param, body: &bytes::Bytes) -> Result<Value, String> {
    if param.kind == Some(ParamType::Bytes) {
        return Ok(Value::Bytes(body.clone()));
    }
    let text = std::str::from_utf8(body).map_err(|_| {
        "the body is not UTF-8; pass it unchanged: { from = \"body\", type = \"bytes\" }".to_owned()
    })?;
    Ok(match param.kind {
        Some(ParamType::Json) => Value::Json(text.to_owned()),
        _ => Value::Text(text.to_owned()),
    })
}

fn find(param: &Param, delivery: &Leased) -> Result<Option<Value>, String> {
    let event = &delivery.event;
    Ok(match &param.from {
        ValueFrom::Field(field) => {
            for place in field.paths() {
                if let Some(value) = at(place, event)? {
                    return Ok(Some(value));
                }
            }
            None
        }
        ValueFrom::Body => Some(body(param, &event.body)?),
        ValueFrom::EventId => Some(Value::Text(event.identity.event_id.clone())),
        ValueFrom::EventType => event.event_type.clone().map(Value::Text),
        ValueFrom::Source => Some(Value::Text(event.source.as_str().to_owned())),
        ValueFrom::Id => Some(Value::Text(event.id.to_string())),
        ValueFrom::ReceivedAt => Some(Value::Text(event.received_at.to_string())),
        ValueFrom::IdempotencyKey => Some(Value::Text(key_of(delivery))),
        ValueFrom::Generation => Some(Value::Number(delivery.generation.to_string())),
    })
}

/// Converts the value to this type if that needs no guessing.
fn cast(kind: ParamType, value: Value) -> Result<Value, Value> {
    let is_integer = |text: &str| text.parse::<i128>().is_ok();
    match (kind, value) {
        (_, Value::Null) => Ok(Value::Null),
        (ParamType::Text, Value::Number(text) | Value::Json(text)) => Ok(Value::Text(text)),
        (ParamType::Text, Value::Boolean(value)) => Ok(Value::Text(value.to_string())),
        (ParamType::Integer, Value::Number(text) | Value::Text(text)) if is_integer(&text) => {
            Ok(Value::Number(text))
        }
        (ParamType::Number, Value::Text(text))
            if serde_json::from_str::<serde_json::Number>(&text).is_ok() =>
        {
            Ok(Value::Number(text))
        }
        (ParamType::Boolean, Value::Text(text)) if text == "true" || text == "false" => {
            Ok(Value::Boolean(text == "true"))
        }
        (ParamType::Json, Value::Number(text)) => Ok(Value::Json(text)),
        (ParamType::Json, Value::Boolean(value)) => Ok(Value::Json(value.to_string())),
        (ParamType::Json, Value::Text(text)) => Ok(Value::Json(serde_json::Value::String(text).to_string())),
        (ParamType::Text, value @ Value::Text(_))
        | (ParamType::Number, value @ Value::Number(_))
        | (ParamType::Boolean, value @ Value::Boolean(_))
        | (ParamType::Json, value @ Value::Json(_))
        | (ParamType::Bytes, value @ Value::Bytes(_)) => Ok(value),
        (_, value) => Err(value),
    }
}

const fn name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Text(_) => "a string",
        Value::Number(_) => "a number",
        Value::Boolean(_) => "true or false",
        Value::Json(_) => "an object or a list",
        Value::Bytes(_) => "the body",
    }
}

fn at(place: &ValuePath, event: &hapax_core::StoredEvent) -> Result<Option<Value>, String> {
    match place {
        ValuePath::Header(name) => event
            .headers
            .get(name)
            .map(|value| {
                String::from_utf8(value.to_vec())
                    .map(Value::Text)
                    .map_err(|_| format!("the header `{name}` is not UTF-8"))
            })
            .transpose(),
        ValuePath::Body(pointer) | ValuePath::Flag(pointer) => {
            Ok(json_pointer::find(&event.body, pointer.tokens()).and_then(json))
        }
        ValuePath::BodySha256 => Ok(Some(Value::Text(event.raw_hash.to_string()))),
        ValuePath::Form(name) => Ok(form(&event.body, name).map(Value::Text)),
        ValuePath::Text(text) => Ok(Some(Value::Text(text.clone()))),
        ValuePath::Present(keys) => {
            let mut keys = keys.iter();
            let found =
                keys.find(|key| json_pointer::find(&event.body, std::slice::from_ref(*key)).is_some());
            Ok(found.map(|key| Value::Text(key.clone())))
        }
        // The configuration refuses these: they are not in an event.
        ValuePath::Proof(_)
        | ValuePath::Query(_)
        | ValuePath::Request(_)
        | ValuePath::RequestSha256
        | ValuePath::Index => Ok(None),
    }
}

fn form(body: &[u8], name: &str) -> Option<String> {
    let found = form_urlencoded::parse(body).find(|(key, _)| key == name);
    found.map(|(_, value)| value.into_owned())
}

fn json(raw: &RawValue) -> Option<Value> {
    let text = raw.get();
    Some(match text.as_bytes().first()? {
        b'"' => Value::Text(serde_json::from_str(text).ok()?),
        b'n' => Value::Null,
        b't' => Value::Boolean(true),
        b'f' => Value::Boolean(false),
        b'{' | b'[' => Value::Json(text.to_owned()),
        _ => Value::Number(text.to_owned()),
    })
}
