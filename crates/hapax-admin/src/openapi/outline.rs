//! The OpenAPI document in reading order: the source of the readable page and the reference.

use serde_json::Value;

/// A group of operations.
pub struct Chapter {
    /// The tag.
    pub name: String,
    /// The description.
    pub about: String,
    /// The operations, ordered by path.
    pub operations: Vec<Operation>,
}

/// One method of one path.
pub struct Operation {
    /// The operation id.
    pub id: String,
    /// In upper case.
    pub method: String,
    /// The full path.
    pub path: String,
    /// The required role; empty if none is required.
    pub role: String,
    /// One sentence.
    pub summary: String,
    /// The remaining description; may be empty.
    pub description: String,
    /// The path and query parameters.
    pub parameters: Vec<Field>,
    /// The fields of the JSON body.
    pub body: Vec<Field>,
    /// The responses by status.
    pub answers: Vec<DescribedResponse>,
}

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

/// The response for one status.
pub struct DescribedResponse {
    pub status: String,
    /// The description; for errors, every code with its meaning.
    pub help: String,
    /// The schema of the document; none for errors and raw bytes.
    pub schema: Option<String>,
}

/// The whole document, grouped by tag.
pub fn chapters(document: &Value) -> Vec<Chapter> {
    let tags = document["tags"].as_array().into_iter().flatten();
    tags.map(|tag| Chapter {
        name: text(&tag["name"]),
        about: text(&tag["description"]),
        operations: operations(document, &tag["name"]),
    })
    .collect()
}

fn operations(document: &Value, tag: &Value) -> Vec<Operation> {
    let mut found = Vec::new();
    for (path, item) in document["paths"].as_object().into_iter().flatten() {
        for (method, operation) in item.as_object().into_iter().flatten() {
            if operation["tags"][0] == *tag {
                found.push(read(document, path, method, operation));
            }
        }
    }
    found
}

fn read(document: &Value, path: &str, method: &str, operation: &Value) -> Operation {
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    Operation {
        id: text(&operation["operationId"]),
        method: method.to_ascii_uppercase(),
        path: path.to_owned(),
        role: text(&operation[super::ROLE_KEY]),
        summary: text(&operation["summary"]),
        description: text(&operation["description"]).replace('\n', " "),
        parameters: parameters.map(|one| parameter(document, one)).collect(),
        body: body(document, operation),
        answers: answers(operation),
    }
}

fn parameter(document: &Value, parameter: &Value) -> Field {
    Field {
        name: text(&parameter["name"]),
        place: text(&parameter["in"]),
        need: need(parameter["required"] == true),
        kind: kind(document, &parameter["schema"]),
        help: help(parameter, resolve(document, &parameter["schema"])),
    }
}

fn body(document: &Value, operation: &Value) -> Vec<Field> {
    let schema = resolve(
        document,
        &operation["requestBody"]["content"]["application/json"]["schema"],
    );
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let fields = schema["properties"].as_object().into_iter().flatten();
    fields
        .map(|(name, schema)| Field {
            name: name.clone(),
            place: "body".to_owned(),
            need: need(required.contains(&Value::from(name.as_str()))),
            kind: kind(document, schema),
            help: help(schema, resolve(document, schema)),
        })
        .collect()
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

fn answers(operation: &Value) -> Vec<DescribedResponse> {
    let answers = operation["responses"].as_object().into_iter().flatten();
    answers
        .map(|(status, answer)| DescribedResponse {
            status: status.clone(),
            help: text(&answer["description"]),
            schema: answer["content"]["application/json"]["schema"]["$ref"]
                .as_str()
                .and_then(|reference| reference.rsplit('/').next())
                .map(str::to_owned),
        })
        .collect()
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
    if let Some(name) = name.filter(|_| super::documents::is_described(schema)) {
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

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_of_the_document_is_in_a_chapter_and_says_what_it_answers() {
        let document = crate::openapi::document();
        let paths = document["paths"].as_object().unwrap();
        let described: usize = paths.values().map(|item| item.as_object().unwrap().len()).sum();
        let chapters = chapters(&document);
        let shown: usize = chapters.iter().map(|chapter| chapter.operations.len()).sum();
        assert_eq!(shown, described);
        for operation in chapters.iter().flat_map(|chapter| &chapter.operations) {
            assert!(!operation.answers.is_empty(), "{}", operation.id);
            for field in operation.parameters.iter().chain(&operation.body) {
                assert!(
                    !field.help.is_empty(),
                    "{}: {} says nothing",
                    operation.id,
                    field.name
                );
            }
        }
    }
}
