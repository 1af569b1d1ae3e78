//! `GET /audit`: the audit trail, newest first.

use axum::response::Response;
use maud::html;
use serde::Deserialize;

use super::frame::{self, Here};
use super::link;
use super::moment::moment;
use super::viewer::Viewer;
use hapax_admin::admission::Narrowed;
use hapax_admin::api_error::ApiResult;
use hapax_admin::audit;
use hapax_admin::extract::{QueryParams, cursor, limit};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Parameters {
    cursor: Option<String>,
}

pub(super) async fn page(
    Narrowed(state): Narrowed,
    viewer: Viewer,
    QueryParams(asked): QueryParams<Parameters>,
) -> ApiResult<Response> {
    let found = audit::page(&state, cursor(asked.cursor.as_deref())?, limit(None)?).await?;
    let now = state.now();
    let content = html! {
        p class="muted" { "Every action on this service through the dashboard, the API or the command line." }
        @if found.audit.is_empty() {
            p class="card empty" { "No actions yet." }
        } @else {
            div class="table" {
                table {
                    thead {
                        tr {
                            th scope="col" { "When" } th scope="col" { "Who" } th scope="col" { "What" }
                            th scope="col" { "Target" } th scope="col" { "Detail" }
                        }
                    }
                    tbody {
                        @for entry in &found.audit {
                            tr {
                                td { (moment(entry.at, now)) }
                                td { (entry.who) }
                                td { code { (entry.action) } }
                                td class="wrap" { (entry.subject) }
                                td class="wrap" { (entry.detail) }
                            }
                        }
                    }
                }
            }
        }
        @if let Some(next) = &found.next {
            p { a class="button" rel="next" href=(link::next("/audit", next)) { "Older" } }
        }
    };
    Ok(frame::page(&viewer, Here::Audit, "Audit", content))
}
