//! `/api`: the description of the API as a page to read. It shows nothing that the public documentation does not.

use axum::response::{IntoResponse as _, Response};
use http::header::{CONTENT_SECURITY_POLICY, X_CONTENT_TYPE_OPTIONS};
use maud::{DOCTYPE, Markup, html};

use super::openapi::document;
use super::openapi::outline::{Chapter, Field, Need, Operation, chapters};

/// Nothing on the page needs anything from anywhere.
const POLICY: &str = "default-src 'none'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'";

pub(super) async fn page() -> Response {
    let headers = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, axum::response::Html(whole().into_string())).into_response()
}

fn whole() -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "Admin API · Hapax" }
            }
            body { main { h1 { "Admin API" } (content()) } }
        }
    }
}

/// What stands under the heading.
pub(in crate::http) fn content() -> Markup {
    let document = document();
    let chapters = chapters(&document);
    html! {
        p { (document["info"]["description"].as_str().unwrap_or_default()) }
        p {
            "For programs: " a href="/api/v1/openapi.json" { "/api/v1/openapi.json" }
            ", an OpenAPI 3.1 document, which " code { "hapax print openapi" } " prints, too."
        }
        nav aria-label="Chapters" {
            ul { @for chapter in &chapters { li { a href={ "#" (chapter.name) } { (chapter.name) } } } }
        }
        @for chapter in &chapters { (section(chapter)) }
    }
}

fn section(chapter: &Chapter) -> Markup {
    html! {
        section id=(chapter.name) class="stack" {
            h2 { (chapter.name) }
            p class="muted" { (chapter.about) }
            @for operation in &chapter.operations { (article(operation)) }
        }
    }
}

fn article(operation: &Operation) -> Markup {
    html! {
        article id=(operation.id) class="card" {
            h3 { code class="mono" { (operation.method) " " (operation.path) } }
            p { (operation.summary) }
            @if !operation.description.is_empty() { p { (operation.description) } }
            @if !operation.parameters.is_empty() { (fields("Parameters", &operation.parameters)) }
            @if !operation.body.is_empty() { (fields("Body", &operation.body)) }
            (answers(operation))
        }
    }
}

fn fields(title: &str, fields: &[Field]) -> Markup {
    html! {
        table class="table" {
            caption { (title) }
            thead { tr { th scope="col" { "name" } th scope="col" { "where" } th scope="col" { "what" } th scope="col" { "meaning" } } }
            tbody {
                @for field in fields {
                    tr {
                        th scope="row" { code { (field.name) } }
                        td { (field.place) @if field.need == Need::Required { ", required" } }
                        td { (field.kind) }
                        td { (field.help) }
                    }
                }
            }
        }
    }
}

fn answers(operation: &Operation) -> Markup {
    html! {
        table class="table" {
            caption { "Answers" }
            thead { tr { th scope="col" { "status" } th scope="col" { "when" } } }
            tbody {
                @for answer in &operation.answers {
                    tr {
                        th scope="row" { (answer.status) }
                        td {
                            @for line in answer.help.split("\n\n") { p { (line) } }
                            @if let Some(schema) = &answer.schema { p class="muted" { "Document: " code { (schema) } } }
                        }
                    }
                }
            }
        }
    }
}
