//! `GET sources`: the configured sources.

use axum::Json;

use super::admission::Narrowed;
use super::facts;
use super::state::AdminState;
use hapax_api::views::SourcesView;

/// Lists the configured sources, without their secrets.
#[utoipa::path(get, path = "/sources", operation_id = "listSources", tag = "sources",
    responses((status = 200, description = "All sources.", body = SourcesView)))]
pub(super) async fn list(Narrowed(state): Narrowed) -> Json<SourcesView> {
    Json(all(&state))
}

/// All sources, with recently refused requests.
pub fn all(state: &AdminState) -> SourcesView {
    let mut sources = state.settings.load().sources.clone();
    for source in &mut sources {
        let refusals = state.meter.refusals(&source.name).into_iter();
        source.refusals = refusals.map(facts::refusal).collect();
    }
    SourcesView { sources }
}
