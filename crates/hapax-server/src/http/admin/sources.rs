//! `GET sources`: where events come from, as configured.

use axum::Json;
use axum::extract::State;

use super::state::AdminState;
use super::views::SourcesView;

pub(super) async fn list(State(state): State<AdminState>) -> Json<SourcesView> {
    Json(all(&state))
}

/// Every source.
pub(in crate::http) fn all(state: &AdminState) -> SourcesView {
    SourcesView {
        sources: state.settings.load().sources.clone(),
    }
}
