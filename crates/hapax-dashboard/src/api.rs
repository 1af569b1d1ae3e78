//! `/api`: the API reference as a page. It shows nothing beyond the public documentation.

use axum::response::Response;
use maud::{Markup, html};

use super::frame::{self, Here};
use super::viewer::Viewer;
use hapax_admin::openapi::document;
use hapax_admin::openapi::documents::{Document, documents};
use hapax_admin::openapi::outline::{Chapter, Operation, chapters};
use hapax_admin::openapi::schema::{Field, Need};

pub(super) async fn page(viewer: Viewer) -> Response {
    frame::page(&viewer, Here::Api, "Admin API", content())
}

/// The content below the heading.
fn content() -> Markup {
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
        section id="documents" class="stack" {
            h2 { "documents" }
            @for one in documents(&document) { (shape(&one)) }
        }
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

fn shape(document: &Document) -> Markup {
    html! {
        article id=(document.name) class="card" {
            h3 { code class="mono" { (document.name) } }
            p { (document.about) }
            div class="table" { table {
                caption { "Fields" }
                thead { tr { th scope="col" { "name" } th scope="col" { "what" } th scope="col" { "meaning" } } }
                tbody {
                    @for field in &document.fields {
                        tr {
                            th scope="row" { code { (field.name) } }
                            td { (field.kind) }
                            td { (field.help) }
                        }
                    }
                }
            } }
        }
    }
}

fn fields(title: &str, fields: &[Field]) -> Markup {
    html! {
        div class="table" { table {
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
        } }
    }
}

fn answers(operation: &Operation) -> Markup {
    html! {
        div class="table" { table {
            caption { "Answers" }
            thead { tr { th scope="col" { "status" } th scope="col" { "when" } } }
            tbody {
                @for answer in &operation.answers {
                    tr {
                        th scope="row" { (answer.status) }
                        td {
                            @for line in answer.help.split("\n\n") { p { (line) } }
                            @if let Some(schema) = &answer.schema { p class="muted" { "Document: " a href={ "#" (schema) } { code { (schema) } } } }
                        }
                    }
                }
            }
        } }
    }
}
