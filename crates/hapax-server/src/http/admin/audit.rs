//! `GET audit`: who did what, newest first.

use axum::Json;
use hapax_core::store::Cursor;
use serde::Deserialize;
use utoipa::IntoParams;

use super::access::Narrowed;
use super::extract::{Asked, cursor, cursor_text, limit};
use super::fault::Answer;
use super::state::AdminState;
use super::views::{AuditPageView, AuditView};

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct PageParameters {
    /// Where to go on: the `next` of the page before.
    #[param(pattern = "^[0-9a-f]{16}$")]
    pub(super) cursor: Option<String>,
    /// How many at most; 50 unless said.
    #[param(minimum = 1, maximum = 200)]
    pub(super) limit: Option<u32>,
}

/// Lists what operators did, the newest first.
#[utoipa::path(get, path = "/audit", operation_id = "listAudit", tag = "audit",
    params(PageParameters),
    responses((status = 200, description = "A page of the audit trail.", body = AuditPageView)),
    extensions(("x-problems" = json!(["invalid_parameter"])))
)]
pub(super) async fn list(
    Narrowed(state): Narrowed,
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
