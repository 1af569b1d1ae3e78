//! `GET sources`: where events come from, as configured.

use axum::Json;
use axum::extract::State;

use super::state::AdminState;
use super::views::SourcesView;

/// Lists the sources as they are configured, without their secrets.
#[utoipa::path(get, path = "/sources", operation_id = "listSources", tag = "sources",
    responses((status = 200, description = "Every source.", body = SourcesView)))]
pub(super) async fn list(State(state): State<AdminState>) -> Json<SourcesView> {
    Json(all(&state))
}

/// Every source.
pub(in crate::http) fn all(state: &AdminState) -> SourcesView {
    SourcesView {
        sources: state.settings.load().sources.clone(),
    }
}
