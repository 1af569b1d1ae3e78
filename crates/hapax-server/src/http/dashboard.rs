//! The dashboard: pages of the admin port, made on the server, that read without a script and are better with one.
//!
//! A page calls the same functions as the handlers of the API and shows what they answer. Every page and form is
//! behind [`viewer`]; what goes wrong is the API's problem, shown as a page by [`wrap`]. Text of senders only ever
//! becomes text: the templates escape all of it, and the headers forbid any script but our own file.

mod api;
pub(in crate::http) mod assets;
mod audit;
mod chart;
mod dead;
mod destinations;
pub(in crate::http) mod done;
mod duplicates;
mod event;
mod events;
pub(in crate::http) mod form;
pub(in crate::http) mod frame;
mod link;
mod live;
mod login;
mod logout;
pub(in crate::http) mod moment;
pub(in crate::http) mod next;
pub(in crate::http) mod number;
mod outbox;
mod overview;
mod prose;
mod replays;
mod sources;
mod spans;
pub(in crate::http) mod status;
pub(in crate::http) mod ten_minutes;
mod theme;
pub(in crate::http) mod viewer;
mod views;
mod wrap;
mod written;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};

use super::admin::AdminState;

/// Every page, form and asset.
pub(super) fn router(state: &AdminState) -> Router<AdminState> {
    pages()
        .layer(DefaultBodyLimit::max(form::FORM_BYTES_MAX))
        .layer(from_fn_with_state(state.clone(), wrap::wrap))
        .merge(Router::new().route("/assets/{name}", get(assets::serve)))
}

/// Every path that takes a form, and those pages that are in the table of rights.
#[cfg(test)]
pub(in crate::http) const FORMS: [&str; 17] = [
    "/events/{id}/replay",
    "/events/{id}/conflicts/{hash}/release",
    "/ledger/forget",
    "/dead/replay",
    "/dead/replay/start",
    "/dead/discard",
    "/dead/restore",
    "/replays/{id}/cancel",
    "/sources/{name}/registration",
    "/outbox/{name}/rows/{id}/retry",
    "/destinations/{name}/pause",
    "/destinations/{name}/resume",
    "/views",
    "/views/delete",
    "/login",
    "/logout",
    "/theme",
];

fn pages() -> Router<AdminState> {
    Router::new()
        .route("/events", get(events::page))
        .route("/events/live", get(live::tail))
        .route("/", get(overview::page))
        .route("/events/{id}", get(event::page))
        .route("/events/{id}/payload", get(event::payload_text))
        .route("/events/{id}/copy", get(event::copy))
        .route("/events/{id}/replay", post(event::replay))
        .route("/events/{id}/conflicts/{hash}/release", post(event::release))
        .route("/ledger/forget", post(event::forget))
        .route("/dead", get(dead::page))
        .route("/dead/replay", post(dead::ask))
        .route("/dead/replay/start", post(dead::start))
        .route("/dead/discard", post(dead::discard))
        .route("/dead/restore", post(dead::restore))
        .route("/replays", get(replays::page))
        .route("/replays/{id}", get(replays::one))
        .route("/replays/{id}/cancel", post(replays::cancel))
        .route("/sources", get(sources::page))
        .route("/duplicates", get(duplicates::page))
        .route("/sources/{name}/registration", post(sources::register))
        .route("/outbox", get(outbox::page))
        .route("/outbox/{name}/rows/{id}/retry", post(outbox::retry))
        .route("/destinations", get(destinations::page))
        .route("/destinations/{name}/pause", post(destinations::pause))
        .route("/destinations/{name}/resume", post(destinations::resume))
        .route("/audit", get(audit::page))
        .route("/views", post(views::save))
        .route("/views/delete", post(views::delete))
        .route("/login", get(login::page).post(login::sign_in))
        .route("/api", get(api::page))
        .route("/logout", post(logout::sign_out))
        .route("/theme", post(theme::choose))
}
