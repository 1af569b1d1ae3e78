//! `GET audit`: who did what, newest first.

use axum::Json;
use axum::extract::State;
use hapax_core::store::Cursor;
use serde::Deserialize;

use super::extract::{Asked, cursor, cursor_text, limit};
use super::fault::Answer;
use super::state::AdminState;
use super::views::{AuditPageView, AuditView};

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct PageParameters {
    pub(super) cursor: Option<String>,
    pub(super) limit: Option<u32>,
}

pub(super) async fn list(
    State(state): State<AdminState>,
    Asked(asked): Asked<PageParameters>,
) -> Answer<Json<AuditPageView>> {
    let (after, limit) = (cursor(asked.cursor.as_deref())?, limit(asked.limit)?);
    page(&state, after, limit).await.map(Json)
}

/// One page of the audit trail.
pub(in crate::http) async fn page(
    state: &AdminState,
    after: Option<Cursor>,
    limit: u32,
) -> Answer<AuditPageView> {
    let (records, next) = state.engine.store().audit(after, limit).await?;
    let audit = records.into_iter().map(|record| AuditView {
        at: record.at,
        who: record.entry.who,
        action: record.entry.action,
        subject: record.entry.subject,
        detail: record.entry.detail,
    });
    Ok(AuditPageView {
        audit: audit.collect(),
        next: next.map(cursor_text),
    })
}
