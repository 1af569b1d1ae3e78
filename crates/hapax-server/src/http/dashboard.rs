//! The dashboard: pages of the admin port, made on the server, that read without a script and are better with one.
//!
//! A page calls the same functions as the handlers of the API and shows what they answer. Every page and form is
//! behind [`viewer`]; what goes wrong is the API's problem, shown as a page by [`wrap`]. Text of senders only ever
//! becomes text: the templates escape all of it, and the headers forbid any script but our own file.

mod api;
pub(in crate::http) mod assets;
pub(in crate::http) mod done;
mod events;
pub(in crate::http) mod form;
pub(in crate::http) mod frame;
mod live;
mod login;
mod logout;
pub(in crate::http) mod moment;
pub(in crate::http) mod next;
pub(in crate::http) mod number;
pub(in crate::http) mod status;
pub(in crate::http) mod theme;
pub(in crate::http) mod viewer;
mod views;
mod wrap;

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

fn pages() -> Router<AdminState> {
    Router::new()
        .route("/events", get(events::page))
        .route("/events/live", get(live::tail))
        .route("/views", post(views::save))
        .route("/views/delete", post(views::delete))
        .route("/login", get(login::page).post(login::sign_in))
        .route("/api", get(api::page))
        .route("/logout", post(logout::sign_out))
        .route("/theme", post(theme::choose))
}
