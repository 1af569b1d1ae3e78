//! The layout of every page: everything around the content.

use axum::response::{Html, IntoResponse, Response};
use http::Method;
use maud::{DOCTYPE, Markup, html};

use super::assets::{ICON, SCRIPT, STYLE};
use super::fields::CSRF_FIELD;
use super::theme::{self, Theme};
use super::viewer::Viewer;

pub(crate) use super::form::form;

/// The current page, for the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Here {
    /// `/`.
    Overview,
    /// `/events` and single events.
    Events,
    /// `/dead`.
    Dead,
    /// `/replays` and single replays.
    Replays,
    /// `/sources`.
    Sources,
    /// `/destinations`.
    Destinations,
    /// `/outbox`.
    Outbox,
    /// `/audit`.
    Audit,
    /// `/api`.
    Api,
    /// None of these pages.
    None,
}

const PAGES: [(Here, &str, &str); 9] = [
    (Here::Overview, "/", "Overview"),
    (Here::Events, "/events", "Events"),
    (Here::Dead, "/dead", "Dead letters"),
    (Here::Replays, "/replays", "Replays"),
    (Here::Sources, "/sources", "Sources"),
    (Here::Destinations, "/destinations", "Destinations"),
    (Here::Outbox, "/outbox", "Outbox"),
    (Here::Audit, "/audit", "Audit"),
    (Here::Api, "/api", "API"),
];

/// A complete page. The title is also its only `h1`.
#[expect(clippy::needless_pass_by_value, reason = "a page gives its content away")]
pub(crate) fn page(viewer: &Viewer, here: Here, title: &str, content: Markup) -> Response {
    let body = html! {
        header class="bar" {
            a class="brand" href="/" { (mark()) "Hapax" }
            nav aria-label="Pages" { (links(viewer, here)) }
            (who(viewer))
        }
        main id="main" tabindex="-1" {
            @if let Some(done) = viewer.done {
                p class="notice good" role="status" { (done.words()) }
            }
            h1 { (title) }
            (content)
        }
        (foot(viewer.theme, here))
    };
    document(viewer.theme, title, &body)
}

/// A page for visitors who are not signed in.
pub(super) fn bare(theme: Theme, title: &str, content: &Markup) -> Response {
    let body = html! {
        header class="bar" { a class="brand" href="/" { (mark()) "Hapax" } }
        main id="main" class="narrow" tabindex="-1" {
            h1 { (title) }
            (content)
        }
        (foot(theme, Here::None))
    };
    document(theme, title, &body)
}

fn document(theme: Theme, title: &str, body: &Markup) -> Response {
    let page = html! {
        (DOCTYPE)
        html lang="en" data-theme=(theme.name()) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · Hapax" }
                link rel="icon" href=(ICON.url());
                link rel="stylesheet" href=(STYLE.url());
                script type="module" src=(SCRIPT.url()) {}
            }
            body {
                a class="skip" href="#main" { "Skip to the content" }
                (body)
            }
        }
    };
    Html(page.into_string()).into_response()
}

fn links(viewer: &Viewer, here: Here) -> Markup {
    let pages = PAGES.into_iter();
    let pages = pages.filter(|(_, path, _)| viewer.caller.may(&Method::GET, path));
    html! {
        ul {
            @for (page, path, name) in pages {
                li { a href=(path) aria-current=[(page == here).then_some("page")] { (name) } }
            }
        }
    }
}

fn who(viewer: &Viewer) -> Markup {
    html! {
        div class="who" {
            span { span class="muted" { "Signed in as " } b { (viewer.caller.actor.name) } " " span class="badge" { (viewer.caller.role.as_str()) } }
            @if viewer.session.is_some() {
                form method="post" action="/logout" {
                    input type="hidden" name=(CSRF_FIELD) value=(viewer.csrf);
                    button class="button quiet" type="submit" { "Sign out" }
                    button class="button quiet" type="submit" name="everywhere" value="yes" { "Sign out everywhere" }
                }
            }
        }
    }
}

fn foot(theme: Theme, here: Here) -> Markup {
    let back = PAGES.iter().find(|(page, _, _)| *page == here);
    html! {
        footer class="foot" {
            (theme::switch(theme, back.map_or("/", |(_, path, _)| path)))
            button class="button quiet" type="button" data-help hidden { "Keyboard " kbd { "?" } }
            a href="/docs/" { "Docs" }
            span class="muted" { "Hapax " (env!("CARGO_PKG_VERSION")) }
        }
        (keys())
    }
}

/// The keyboard shortcuts; opened by `?` or by the button in the footer.
fn keys() -> Markup {
    html! {
        dialog id="help" aria-labelledby="help-title" {
            h2 id="help-title" { "Keyboard" }
            dl class="keys" {
                @for (key, does) in KEYS {
                    dt { @for one in key.split(' ') { kbd { (one) } " " } }
                    dd { (does) }
                }
            }
            button class="button" type="button" data-close { "Close" }
        }
    }
}

const KEYS: [(&str, &str); 6] = [
    ("j k", "the next and the previous row"),
    ("Enter", "open the row"),
    ("/", "search"),
    ("r", "replay the event of the row, after a confirmation"),
    ("?", "show these keys"),
    ("Esc", "close the dialog, or leave the row or the search"),
];

/// The logo: an event and its duplicate, of which only one counts.
fn mark() -> Markup {
    html! {
        svg class="mark" viewBox="0 0 20 20" width="20" height="20" aria-hidden="true" {
            circle class="copy" cx="12.5" cy="10" r="6" {}
            circle class="first" cx="7.5" cy="10" r="6" {}
        }
    }
}
