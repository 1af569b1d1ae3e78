//! The search box, the saved searches, and terms to add with a click.

use maud::{Markup, html};

use super::address;
use crate::frame::form as changing;
use crate::viewer::Viewer;
use hapax_api::query::{KEYS, QUERY_BYTES_MAX, QueryError};
use hapax_api::views::SavedSearchView;

/// Predefined searches.
const BUILT_IN: [(&str, &str); 6] = [
    ("All", ""),
    ("Failed", "status:failed"),
    ("Dead", "status:dead"),
    ("Duplicates", "duplicates:>0"),
    ("Conflicts", "has:conflict"),
    ("Quarantined", "status:quarantined"),
];
/// Terms to add with a click.
const TERMS: [&str; 5] = [
    "since:1h",
    "since:24h",
    "status:dead",
    "duplicates:>0",
    "has:conflict",
];
/// Maximum number of sources offered as terms; the completion offers all.
const SOURCES_MAX: usize = 6;

/// The predefined and saved searches, with the current one highlighted.
pub(super) fn tabs(viewer: &Viewer, text: &str, saved: &[SavedSearchView]) -> Markup {
    let own = saved.iter().find(|search| search.query == text);
    html! {
        nav aria-label="Saved searches" {
            ul class="tabs" {
                @for (name, query) in BUILT_IN { (tab(name, query, text)) }
                @for one in saved { (tab(&one.name, &one.query, text)) }
            }
        }
        @if let Some(own) = own {
            (changing(viewer, "/searches/delete", html! {
                input type="hidden" name="name" value=(own.name);
                p class="row small" {
                    span class="muted" { "Saved by " (own.by) "." }
                    button class="button quiet" type="submit" { "Delete the saved search “" (own.name) "”" }
                }
            }))
        }
    }
}

/// The search box, with the error in its query.
pub(super) fn form(viewer: &Viewer, text: &str, error: Option<&QueryError>) -> Markup {
    html! {
        form class="search" method="get" action="/events" role="search" {
            label class="visually-hidden" for="q" { "Search events" }
            div class="combo" {
                input id="q" name="q" type="text" class="mono" value=(text) maxlength=(QUERY_BYTES_MAX)
                    placeholder="source:stripe type:invoice.* status:dead since:2h" autocomplete="off"
                    autocapitalize="off" spellcheck="false" data-complete="/api/v1/query/complete"
                    aria-invalid=[error.map(|_| "true")] aria-describedby=[error.map(|_| "q-error")];
            }
            button class="button primary" type="submit" { "Search" }
            @if !text.is_empty() { a class="button quiet" href="/events" { "Clear" } }
        }
        @if let Some(error) = error { (mistake(text, error)) }
        div class="row small under-search" {
            (help())
            @if !text.is_empty() && error.is_none() { (save(viewer, text)) }
        }
    }
}

/// Terms that can be added to the current query.
pub(super) fn shortcuts(text: &str, sources: &[String]) -> Markup {
    let of_sources = sources
        .iter()
        .take(SOURCES_MAX)
        .map(|name| format!("source:{name}"));
    let all = of_sources.chain(TERMS.map(str::to_owned));
    // Each key can occur only once, so keys that are already in the query are not offered.
    let is_free = |term: &String| {
        term.split_once(':')
            .is_some_and(|(key, _)| !text.contains(&format!("{key}:")))
    };
    html! {
        p class="row small chips" {
            span class="muted" { "Narrow:" }
            @for term in all.filter(is_free) {
                a class="chip mono" href=(address(format!("{text} {term}").trim(), None)) { (term) }
            }
        }
    }
}

fn tab(name: &str, query: &str, text: &str) -> Markup {
    html! { li { a href=(address(query, None)) aria-current=[(query == text).then_some("page")] { (name) } } }
}

/// The query with the invalid term highlighted.
fn mistake(text: &str, error: &QueryError) -> Markup {
    let (before, from) = text.split_at_checked(error.at).unwrap_or((text, ""));
    let end = from.find(char::is_whitespace).unwrap_or(from.len());
    let (term, after) = from.split_at(end);
    html! {
        div id="q-error" class="notice bad" role="alert" {
            p { "This search is invalid. " (error) }
            pre { (before) mark { (term) } (after) }
        }
    }
}

fn help() -> Markup {
    html! {
        details {
            summary { "What can be searched for" }
            p class="muted" { "Terms are separated by spaces, and all of them must match. A word alone is an event id." }
            div class="table" {
                table {
                    thead { tr { th scope="col" { "Key" } th scope="col" { "Finds" } th scope="col" { "Such as" } } }
                    tbody {
                        @for key in KEYS {
                            tr {
                                th scope="row" class="mono" { (key.name) ":" }
                                td { (key.help.replace('`', "")) }
                                td {
                                    @for example in key.examples {
                                        a class="mono" href=(address(example, None)) { (example) } " "
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn save(viewer: &Viewer, text: &str) -> Markup {
    html! {
        details {
            summary { "Save this search" }
            (changing(viewer, "/searches", html! {
                input type="hidden" name="q" value=(text);
                div class="row" {
                    label for="search-name" { "Name" }
                    input id="search-name" class="short" name="name" type="text" required maxlength="64";
                    button class="button" type="submit" { "Save" }
                }
            }))
        }
    }
}
