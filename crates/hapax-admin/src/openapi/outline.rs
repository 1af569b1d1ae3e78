//! The OpenAPI document in reading order: the source of the readable page and the reference.

use serde_json::Value;

use super::schema::{Field, help, kind, need, resolve};

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
