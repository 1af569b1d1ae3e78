//! `GET audit`: who did what, newest first.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;

use super::extract::{Asked, cursor, cursor_text, limit};
use super::fault::Answer;
use super::state::AdminState;
use super::views::{AuditPageView, AuditView};

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct PageParameters {
    cursor: Option<String>,
    limit: Option<u32>,
}

pub(super) async fn list(
    State(state): State<AdminState>,
    Asked(asked): Asked<PageParameters>,
) -> Answer<Json<AuditPageView>> {
    let (after, limit) = (cursor(asked.cursor.as_deref())?, limit(asked.limit)?);
    let (records, next) = state.engine.store().audit(after, limit).await?;
    let audit = records.into_iter().map(|record| AuditView {
        at: record.at,
        who: record.entry.who,
        action: record.entry.action,
        subject: record.entry.subject,
        detail: record.entry.detail,
    });
    Ok(Json(AuditPageView {
        audit: audit.collect(),
        next: next.map(cursor_text),
    }))
}
