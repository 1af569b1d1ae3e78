//! The request and response documents, field by field.

use serde_json::Value;

use super::schema::{Field, help, is_described, kind, need, resolve, shapes};

/// A document type.
pub struct Document {
    pub name: String,
    /// The description.
    pub about: String,
    /// The fields, ordered by name; for a document with several variants, the fields of all.
    pub fields: Vec<Field>,
}

/// Every document with fields, ordered by name.
pub fn documents(document: &Value) -> Vec<Document> {
    let schemas = document["components"]["schemas"]
        .as_object()
        .into_iter()
        .flatten();
    schemas
        .filter(|(_, schema)| is_described(schema))
        .map(|(name, schema)| Document {
            name: name.clone(),
            about: schema["description"]
                .as_str()
                .unwrap_or_default()
                .replace('\n', " "),
            fields: fields(document, schema),
        })
        .collect()
}

fn fields(document: &Value, schema: &Value) -> Vec<Field> {
    let mut found: Vec<Field> = Vec::new();
    for shape in std::iter::once(schema).chain(shapes(schema)) {
        let required = shape["required"].as_array().cloned().unwrap_or_default();
        for (name, field) in shape["properties"].as_object().into_iter().flatten() {
            let kind = kind(document, field);
            if let Some(known) = found.iter_mut().find(|known| known.name == *name) {
                known.kind = format!("{}, {kind}", known.kind);
                continue;
            }
            found.push(Field {
                name: name.clone(),
                place: String::new(),
                need: need(required.contains(&Value::from(name.as_str()))),
                kind,
                help: help(field, resolve(document, field)),
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_document_that_an_operation_answers_is_described_with_its_fields() {
        let document = crate::openapi::document();
        let documents = documents(&document);
        for chapter in super::super::outline::chapters(&document) {
            for answer in chapter.operations.iter().flat_map(|operation| &operation.answers) {
                let Some(schema) = &answer.schema else { continue };
                let found = documents.iter().find(|document| document.name == *schema);
                assert!(
                    found.is_some_and(|document| !document.fields.is_empty()),
                    "{schema}"
                );
            }
        }
        let coverage = documents
            .iter()
            .find(|document| document.name == "CoverageView")
            .unwrap();
        let kinds = &coverage
            .fields
            .iter()
            .find(|field| field.name == "kind")
            .unwrap()
            .kind;
        assert_eq!(kinds, "everything, indexed, newest");
    }
}
