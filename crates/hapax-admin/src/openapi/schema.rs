//! Reads schemas: their fields, types and descriptions.

use serde_json::Value;

/// A parameter, or a field of a body.
pub struct Field {
    pub name: String,
    /// Where it occurs: `path`, `query` or `body`.
    pub place: String,
    pub need: Need,
    /// The accepted values.
    pub kind: String,
    /// The description.
    pub help: String,
}

/// Whether something may be omitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    Required,
    Optional,
}

/// The description of the field itself, or else of its schema.
pub(super) fn help(field: &Value, schema: &Value) -> String {
    let mut either = schema["oneOf"].as_array().into_iter().flatten();
    let of_either = either.find_map(|one| one["description"].as_str());
    let own = field["description"].as_str().or(schema["description"].as_str());
    own.or(of_either).unwrap_or_default().replace('\n', " ")
}

pub(super) const fn need(required: bool) -> Need {
    if required { Need::Required } else { Need::Optional }
}

pub(super) fn resolve<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    let target = schema["$ref"]
        .as_str()
        .and_then(|reference| reference.strip_prefix('#'));
    target
        .and_then(|pointer| document.pointer(pointer))
        .unwrap_or(schema)
}

/// A short description of a schema's type.
pub(super) fn kind(document: &Value, schema: &Value) -> String {
    let name = schema["$ref"]
        .as_str()
        .and_then(|reference| reference.rsplit('/').next());
    let schema = resolve(document, schema);
    if let Some(name) = name.filter(|_| is_described(schema)) {
        return name.to_owned();
    }
    if schema["type"] == "array" {
        return format!("list of {}", kind(document, &schema["items"]));
    }
    if let Some(values) = schema["enum"].as_array() {
        let names = values.iter().filter_map(Value::as_str);
        return names.collect::<Vec<_>>().join(", ");
    }
    let either = ["anyOf", "oneOf"].iter().find_map(|key| schema[*key].as_array());
    if let Some(either) = either {
        let kinds = either
            .iter()
            .map(|one| kind(document, one))
            .filter(|kind| kind != "null");
        return kinds.collect::<Vec<_>>().join(" or ");
    }
    let base = match &schema["type"] {
        Value::Array(types) => types
            .iter()
            .find_map(Value::as_str)
            .filter(|name| *name != "null"),
        one => one.as_str(),
    };
    let base = base.unwrap_or("anything");
    let bounds = match (&schema["minimum"], &schema["maximum"]) {
        (Value::Null, _) | (_, Value::Null) => String::new(),
        (low, high) => format!(" from {low} to {high}"),
    };
    match schema["format"].as_str() {
        Some("date-time") => "time (RFC 3339)".to_owned(),
        Some("uuid") => "UUID".to_owned(),
        Some("hapax-query") => "query".to_owned(),
        Some(_) | None => format!("{base}{bounds}"),
    }
}

/// Whether a schema is a document with fields rather than a single value.
pub(super) fn is_described(schema: &Value) -> bool {
    schema["properties"].is_object() || shapes(schema).iter().any(|shape| shape["properties"].is_object())
}

pub(super) fn shapes(schema: &Value) -> &[Value] {
    schema["oneOf"].as_array().map_or(&[], Vec::as_slice)
}
