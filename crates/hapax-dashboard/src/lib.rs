//! The dashboard: server-rendered pages on the admin port that work without JavaScript and are better with it.
//!
//! A page calls the same functions as the API's handlers and shows their results. Every page and form is protected by
//! `viewer`; `wrap` renders API errors as pages. Strings from providers are always shown as plain text: the
//! templates escape them, and the headers forbid all scripts except our own file.

mod api;
pub(crate) mod assets;
mod audit;
mod chart;
mod dead;
mod destinations;
mod docs;
pub(crate) mod done;
mod duplicates;
mod event;
mod events;
pub(crate) mod fields;
pub(crate) mod form;
pub(crate) mod frame;
mod link;
mod live;
mod login;
mod logout;
pub(crate) mod moment;
pub(crate) mod next;
mod oidc;
mod outbox;
mod overview;
mod percentiles;
mod prose;
mod ranges;
mod replays;
mod searches;
mod sources;
pub(crate) mod status;
pub(crate) mod ten_minutes;
mod theme;
pub(crate) mod viewer;
mod wrap;
mod written;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodRouter, get, post};

use hapax_admin::AdminState;

/// All pages, forms and assets.
pub fn router(state: &AdminState) -> Router<AdminState> {
    pages()
        .layer(DefaultBodyLimit::max(fields::FORM_BYTES_MAX))
        .layer(from_fn_with_state(state.clone(), wrap::wrap))
        .merge(open())
}

/// What everyone may read.
fn open() -> Router<AdminState> {
    Router::new()
        .route("/assets/{name}", get(assets::serve))
        .route("/docs", get(docs::folder))
        .route("/docs/", get(docs::first))
        .route("/docs/{*path}", get(docs::serve))
}

fn pages() -> Router<AdminState> {
    let pages = Router::new()
        .route("/events", get(events::page))
        .route("/events/live", get(live::tail))
        .route("/", get(overview::page))
        .route("/events/{id}", get(event::page))
        .route("/events/{id}/payload", get(event::payload_text))
        .route("/events/{id}/export", get(event::export))
        .route("/dead", get(dead::page))
        .route("/replays", get(replays::page))
        .route("/replays/{id}", get(replays::one))
        .route("/sources", get(sources::page))
        .route("/duplicates", get(duplicates::page))
        .route("/outbox", get(outbox::page))
        .route("/destinations", get(destinations::page))
        .route("/audit", get(audit::page))
        .route("/login", get(login::page))
        .route("/login/oidc", get(oidc::begin))
        .route("/login/oidc/callback", get(oidc::callback))
        .route("/api", get(api::page));
    let forms = forms().into_iter();
    forms.fold(pages, |pages, (path, form)| pages.route(path, form))
}

/// Every path that accepts a form. Each has an entry in the table of rights.
pub(crate) fn forms() -> [(&'static str, MethodRouter<AdminState>); 18] {
    [
        ("/events/{id}/replay", post(event::replay)),
        ("/events/{id}/conflicts/{hash}/release", post(event::release)),
        ("/ledger/forget", post(event::forget)),
        ("/dead/replay", post(dead::ask)),
        ("/dead/replay/start", post(dead::start)),
        ("/dead/discard", post(dead::discard)),
        ("/dead/restore", post(dead::restore)),
        ("/replays/{id}/cancel", post(replays::cancel)),
        ("/sources/{name}/registration", post(sources::register)),
        ("/outbox/{name}/rows/{id}/retry", post(outbox::retry)),
        ("/destinations/{name}/pause", post(destinations::pause)),
        ("/destinations/{name}/resume", post(destinations::resume)),
        ("/searches", post(searches::save)),
        ("/searches/delete", post(searches::delete)),
        ("/logout", post(logout::sign_out)),
        ("/logout/oidc", post(oidc::log_out)),
        ("/theme", post(theme::choose)),
        ("/login", post(login::sign_in)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use hapax_admin::access::RIGHTS;

    #[test]
    fn every_change_has_a_line() {
        let document = hapax_admin::openapi::document();
        let described = document["paths"].as_object().unwrap().iter();
        let of_api = described.flat_map(|(path, item)| {
            let methods = item.as_object().unwrap().keys();
            methods.map(move |method| (method.to_ascii_uppercase(), path.replace("/api/v1", "")))
        });
        let of_forms = forms().map(|(path, _)| ("POST".to_owned(), path.to_owned()));
        let changes = of_api.chain(of_forms).filter(|(method, _)| method != "GET");
        for (method, path) in changes {
            let is_path = |pattern: &str| pattern.replace("{*", "{") == path;
            let found = RIGHTS
                .iter()
                .any(|(name, pattern, _)| *name == method && is_path(pattern));
            assert!(found, "{method} {path}");
        }
    }

    #[test]
    fn every_line_is_of_an_operation_that_there_is() {
        let document = hapax_admin::openapi::document();
        let described = document["paths"].as_object().unwrap();
        let forms = forms().map(|(path, _)| path);
        for (method, pattern, _) in RIGHTS {
            let api = format!("/api/v1{}", pattern.replace("{*", "{"));
            let is_described = described
                .get(&api)
                .is_some_and(|item| item.get(method.to_ascii_lowercase()).is_some());
            assert!(is_described || forms.contains(&pattern), "{method} {pattern}");
        }
    }
}
