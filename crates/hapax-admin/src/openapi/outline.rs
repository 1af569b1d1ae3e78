//! The OpenAPI document in the order in which people read it: what the readable page and the reference are made from.

use serde_json::Value;

/// Operations that belong together.
pub struct Chapter {
    /// Its tag.
    pub name: String,
    /// What it is about.
    pub about: String,
    /// In the order of their paths.
    pub operations: Vec<Operation>,
}

/// One method of one path.
pub struct Operation {
    /// Its name in the document.
    pub id: String,
    /// In capitals.
    pub method: String,
    /// From the root.
    pub path: String,
    /// The role that it takes; empty where none is needed.
    pub role: String,
    /// One sentence.
    pub summary: String,
    /// The rest; may be empty.
    pub description: String,
    /// Of the path and the query.
    pub parameters: Vec<Field>,
    /// Of the JSON body.
    pub body: Vec<Field>,
    /// By status.
    pub answers: Vec<DescribedResponse>,
}

/// A parameter, or a field of a body.
pub struct Field {
    /// Its name.
    pub name: String,
    /// Where it stands: `path`, `query` or `body`.
    pub place: String,
    /// Whether it must be there.
    pub need: Need,
    /// What it may be.
    pub kind: String,
    /// What it means.
    pub help: String,
}

/// Whether something may be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// It may not.
    Required,
    /// It may.
    Optional,
}

/// What comes back under one status.
pub struct DescribedResponse {
    /// The status.
    pub status: String,
    /// When it is given; for problems, every code with its meaning.
    pub help: String,
    /// The schema of its document; none for problems and bytes.
    pub schema: Option<String>,
}

/// The whole document, chapter by chapter.
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

/// What is said of a field itself, else of its schema.
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

/// A schema in a few words.
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
