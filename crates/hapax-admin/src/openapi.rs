//! `GET openapi.json`: the OpenAPI document of the admin port, generated from the handlers themselves.
//!
//! A handler names its problem codes in `x-problems`. Here they become responses, with the status and meaning of each
//! [`Code`], together with the codes that any path can return.

pub mod documents;
pub mod outline;
pub mod schema;

use std::collections::BTreeMap;

use axum::response::{IntoResponse, Response};
use http::Method;
use http::header::CONTENT_TYPE;
use serde_json::{Value, json};
use utoipa::openapi::{OpenApi, Server};
use utoipa::{Modify, OpenApi as _};
use utoipa_axum::router::OpenApiRouter;

use super::access::{Right, right_for};
use hapax_api::problem::{Code, MEDIA_TYPE};
use hapax_config::Role;

/// The tags of operations with their descriptions, in the order of the page.
const TAGS: [(&str, &str); 12] = [
    ("events", "Received events and their deliveries."),
    ("replays", "Delivering again."),
    ("deliveries", "Dead letters."),
    ("ledger", "The ids that the ledger remembers."),
    ("queries", "Query completion and saved searches."),
    ("stats", "Statistics and alerts."),
    ("sources", "Where events come from."),
    ("destinations", "Where events go."),
    ("outbox", "Events from tables in your own databases."),
    ("audit", "Who did what."),
    ("description", "This description."),
    ("probes", "For load balancers and Prometheus; no token is needed."),
];

/// The problem codes that any path under `/api/v1` can return.
pub const ANYWHERE: [Code; 9] = [
    Code::Unauthorized,
    Code::TooManyAttempts,
    Code::ForbiddenOrigin,
    Code::SourcesLimited,
    Code::StoreRejected,
    Code::StoreDamaged,
    Code::StoreUnsupported,
    Code::StoreUnavailable,
    Code::Overloaded,
];

/// The extension with the role that an operation requires.
pub(crate) const ROLE_KEY: &str = "x-role";

/// The extension in which a handler names its problem codes.
const PROBLEMS_KEY: &str = "x-problems";

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Hapax admin API",
        description = "Inspect webhooks and operate their delivery. Lists are paginated: pass `next` as `cursor`. \
                       Times are RFC 3339 in UTC. `x-role` is the role that an operation requires. Unknown parameters \
                       and fields are refused. Every error is an `application/problem+json` document (RFC 9457) with a \
                       stable `code`.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    modifiers(&Access),
)]
struct Head;

/// The authentication schemes.
struct Access;

impl Modify for Access {
    fn modify(&self, document: &mut OpenApi) {
        use utoipa::openapi::security::{ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityScheme};
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("token", SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)));
        let cookie = ApiKey::Cookie(ApiKeyValue::with_description(
            super::access::COOKIE_NAME,
            "The session cookie of the dashboard. On the API, it allows only reads.",
        ));
        components.add_security_scheme("session", SecurityScheme::ApiKey(cookie));
    }
}

/// Returns this OpenAPI document.
#[utoipa::path(get, path = "/openapi.json", operation_id = "getDescription", tag = "description",
    responses((status = 200, description = "The document, OpenAPI 3.1.", body = Object)))]
pub(super) async fn serve() -> Response {
    let json = [(CONTENT_TYPE, "application/json")];
    (json, document().to_string()).into_response()
}

/// The OpenAPI document of the admin port.
pub fn document() -> Value {
    let mut head = Head::openapi();
    head.servers = Some(vec![Server::new("http://127.0.0.1:8081")]);
    let routes = super::routes();
    let described = OpenApiRouter::with_openapi(head)
        .merge(routes.probes)
        .nest("/api/v1", routes.timed.merge(routes.streams));
    finish(described.into_openapi())
}

fn finish(document: OpenApi) -> Value {
    let mut document = serde_json::to_value(document).unwrap_or_default();
    document["tags"] = TAGS
        .iter()
        .map(|(name, about)| json!({ "name": name, "description": about }))
        .collect();
    document["components"]["schemas"]["Problem"] = problem_schema();
    let paths = std::mem::take(&mut document["paths"]);
    let mut finished = serde_json::Map::new();
    for (path, mut item) in paths.as_object().cloned().unwrap_or_default() {
        let is_api = path.starts_with("/api/");
        for (method, operation) in item.as_object_mut().into_iter().flatten() {
            relax_body(&document, operation);
            if is_api {
                let verb = Method::from_bytes(method.to_ascii_uppercase().as_bytes()).unwrap_or_default();
                let right = right_for(&verb, &path);
                operation[ROLE_KEY] = json!(right.role.as_str());
                add_problems(operation, right);
                operation["security"] = json!([{ "token": [] }, { "session": [] }]);
            }
        }
        // The router marks a catch-all parameter with a star, the document does not.
        finished.insert(path.replace("{*", "{"), item);
    }
    document["paths"] = Value::Object(finished);
    document
}

/// A body without required fields is optional.
fn relax_body(document: &Value, operation: &mut Value) {
    let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
    let pointer = schema["$ref"]
        .as_str()
        .and_then(|reference| reference.strip_prefix('#'));
    let Some(schema) = pointer.and_then(|pointer| document.pointer(pointer)) else {
        return;
    };
    if schema["required"].is_null() && schema["minProperties"].is_null() {
        operation["requestBody"]["required"] = Value::Bool(false);
    }
}

/// Turns the problem codes of an operation into responses, one per status.
fn add_problems(operation: &mut Value, right: Right) {
    let named = operation[PROBLEMS_KEY].take();
    let named = named.as_array().into_iter().flatten();
    let named = named.filter_map(|code| code.as_str()?.parse().ok());
    // A caller whose role is too low is refused before anything else is checked.
    let role_too_low = (right.role > Role::Read).then_some(Code::RoleTooLow);
    let mut by_status: BTreeMap<u16, Vec<Code>> = BTreeMap::new();
    for code in named.chain(ANYWHERE).chain(role_too_low) {
        by_status.entry(code.status()).or_default().push(code);
    }
    if let Some(fields) = operation.as_object_mut() {
        fields.remove(PROBLEMS_KEY);
    }
    for (status, codes) in by_status {
        operation["responses"][status.to_string()] = problem_response(&codes);
    }
}

fn problem_response(codes: &[Code]) -> Value {
    let lines: Vec<String> = codes
        .iter()
        .map(|code| format!("`{code}`: {}", code.meaning()))
        .collect();
    let schema = json!({ "allOf": [
        { "$ref": "#/components/schemas/Problem" },
        { "type": "object", "properties": { "code": { "type": "string", "enum": codes } } },
    ] });
    json!({ "description": lines.join("\n\n"), "content": { (MEDIA_TYPE): { "schema": schema } } })
}

fn problem_schema() -> Value {
    json!({
        "type": "object",
        "description": "An error (RFC 9457).",
        "required": ["type", "title", "status", "detail", "code", "explain"],
        "properties": {
            "type": {
                "type": "string",
                "pattern": format!("^{}[a-z_]+$", Code::URN_PREFIX),
                "description": "The code as a URN.",
            },
            "title": { "type": "string", "description": "A short summary, the same for every occurrence." },
            "status": { "type": "integer", "description": "The HTTP status." },
            "detail": { "type": "string", "description": "What happened, and what to do." },
            "code": { "type": "string", "description": "A stable code for programs." },
            "explain": {
                "type": "string",
                "pattern": "^hapax explain [a-z_]+$",
                "description": "The command that prints what the code means and what to do.",
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn operations() -> Vec<(String, String, Value)> {
        let document = document();
        let paths = document["paths"].as_object().cloned().unwrap();
        let mut found = Vec::new();
        for (path, item) in paths {
            for (method, operation) in item.as_object().unwrap() {
                found.push((method.clone(), path.clone(), operation.clone()));
            }
        }
        found
    }

    #[test]
    fn every_operation_has_a_name_of_its_own_a_summary_and_a_known_tag() {
        let mut names = BTreeSet::new();
        for (method, path, operation) in operations() {
            let name = operation["operationId"].as_str().unwrap().to_owned();
            assert!(names.insert(name), "{method} {path} has the name of another");
            assert!(
                !operation["summary"].as_str().unwrap_or_default().is_empty(),
                "{method} {path}"
            );
            let tag = operation["tags"][0].as_str().unwrap();
            assert!(
                TAGS.iter().any(|(known, _)| *known == tag),
                "{method} {path}: {tag}"
            );
            assert_eq!(
                operation["tags"].as_array().map(Vec::len),
                Some(1),
                "{method} {path}"
            );
        }
        assert!(names.len() > 30, "{names:?}");
    }

    #[test]
    fn every_code_that_a_handler_names_is_a_known_one() {
        let routes = crate::routes();
        let mut seen = 0;
        for api in [routes.timed, routes.streams] {
            let api = serde_json::to_value(api.into_openapi()).unwrap();
            for item in api["paths"].as_object().unwrap().values() {
                for operation in item.as_object().unwrap().values() {
                    for code in operation[PROBLEMS_KEY].as_array().into_iter().flatten() {
                        seen += 1;
                        code.as_str().unwrap().parse::<Code>().unwrap();
                    }
                }
            }
        }
        assert!(seen > 30, "the codes are not where this test looks: {seen}");
    }

    #[test]
    fn the_document_is_openapi_3_1_and_every_reference_leads_somewhere() {
        let document = document();
        assert!(
            document["openapi"].as_str().unwrap().starts_with("3.1"),
            "{}",
            document["openapi"]
        );
        let text = document.to_string();
        let references = text
            .split("\"#/")
            .skip(1)
            .filter_map(|rest| rest.split('"').next());
        let mut count = 0;
        for reference in references {
            count += 1;
            assert!(
                document.pointer(&format!("/{reference}")).is_some(),
                "{reference}"
            );
        }
        assert!(count > 50, "{count}");
        assert!(!text.contains("{*"), "a path is written as the router does");
    }
}
