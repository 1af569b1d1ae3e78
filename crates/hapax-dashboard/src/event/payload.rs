//! The payload of an event: formatted, raw, or its headers; always as plain text.

use axum::response::{IntoResponse as _, Response};
use http::header::{CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use maud::{Markup, html};
use serde::Deserialize;

use super::super::link;
use super::super::viewer::Viewer;
use super::Parameters;
use hapax_admin::admission::Narrowed;
use hapax_admin::api_error::ApiResult;
use hapax_admin::diff::cut;
use hapax_admin::extract::{PathParams, QueryParams, event_id};
use hapax_admin::{events, facts, pretty};
use hapax_api::readable;
use hapax_api::views::EventView;

/// Maximum size of a payload shown on a page. For a larger one, the page links to the whole.
const SHOWN_BYTES_MAX: usize = 256 * 1024;

/// The shown part of the request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Shown {
    /// The body, formatted if it is JSON.
    #[default]
    Pretty,
    /// The body as it arrived.
    Raw,
    Headers,
}

impl Shown {
    const ALL: [Self; 3] = [Self::Pretty, Self::Raw, Self::Headers];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Pretty => "pretty",
            Self::Raw => "raw",
            Self::Headers => "headers",
        }
    }
}

pub(super) fn section(view: &EventView, body: &[u8], shown: Shown) -> Markup {
    let text = text_of(view, body, shown);
    let (text, is_cut) = cut(&text, SHOWN_BYTES_MAX);
    let whole = |shown: Shown| format!("{}/payload?as={}", link::event(view.id), shown.as_str());
    html! {
        section aria-labelledby="payload" {
            h2 id="payload" { "Payload" }
            ul class="tabs" {
                @for one in Shown::ALL {
                    li { a href={ (link::event(view.id)) "?as=" (one.as_str()) "#payload" } aria-current=[(one == shown).then_some("page")] { (one.as_str()) } }
                }
            }
            @if is_cut {
                p class="notice warn" {
                    "Only the first " (readable::size(SHOWN_BYTES_MAX as u64)) " are shown. "
                    a href=(whole(shown)) { "Show all of it" } "."
                }
            }
            @if std::str::from_utf8(body).is_err() && shown != Shown::Headers {
                p class="notice" { "The body is not text: other bytes are shown as \u{fffd}. The download has the original bytes." }
            }
            pre class="card payload" tabindex="0" aria-label="Payload" { (text) }
            p class="row" {
                a class="button" href={ "/api/v1/events/" (view.id) "/payload" } download { "Download" }
                a class="button quiet" href=(whole(shown)) { "As plain text" }
            }
        }
    }
}

/// `GET /events/{id}/payload`: the whole payload as plain text.
pub(crate) async fn text(
    Narrowed(state): Narrowed,
    viewer: Viewer,
    PathParams(id): PathParams<String>,
    QueryParams(asked): QueryParams<Parameters>,
) -> ApiResult<Response> {
    let record = events::visible(&state, viewer.caller.role, event_id(&id)?).await?;
    let view = facts::event(&state, &record, record.event.received_at).await?;
    Ok(plain(
        text_of(&view, &record.event.body, asked.shown),
        "payload.txt",
    ))
}

/// Plain text that no browser interprets as anything else.
pub(super) fn plain(text: String, file_name: &str) -> Response {
    let headers = [
        (CONTENT_TYPE, "text/plain; charset=utf-8".to_owned()),
        (CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox".to_owned()),
        (CONTENT_DISPOSITION, format!("inline; filename=\"{file_name}\"")),
    ];
    (headers, text).into_response()
}

fn text_of(view: &EventView, body: &[u8], shown: Shown) -> String {
    let raw = || String::from_utf8_lossy(body).into_owned();
    match shown {
        Shown::Pretty => pretty::as_sent(body).unwrap_or_else(raw),
        Shown::Raw => raw(),
        Shown::Headers => {
            let lines = view
                .headers
                .iter()
                .map(|header| format!("{}: {}\n", header.name, header.value));
            lines.collect()
        }
    }
}
