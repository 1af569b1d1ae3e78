//! `GET audit`: the audit trail, newest first. `GET audit/verify`: checks that it has not been changed.

use axum::Json;
use hapax_core::store::{AuditHead, Cursor, NotAHead};
use serde::Deserialize;
use utoipa::IntoParams;

use super::admission::Narrowed;
use super::api_error::{ApiError, ApiResult};
use super::extract::{QueryParams, cursor, cursor_text, limit};
use super::state::AdminState;
use hapax_api::problem::Code;
use hapax_api::views::{AuditBreakView, AuditPageView, AuditVerifiedView, AuditView};

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct PageParameters {
    /// The `next` of the previous page.
    #[param(pattern = "^[0-9a-f]{16}$")]
    pub(super) cursor: Option<String>,
    /// The maximum number of entries [default: 50].
    #[param(minimum = 1, maximum = 200)]
    pub(super) limit: Option<u32>,
}

/// Lists the actions of operators, newest first.
#[utoipa::path(get, path = "/audit", operation_id = "listAudit", tag = "audit",
    params(PageParameters),
    responses((status = 200, description = "A page of the audit trail.", body = AuditPageView)),
    extensions(("x-problems" = json!([Code::InvalidParameter])))
)]
pub(super) async fn list(
    Narrowed(state): Narrowed,
    QueryParams(asked): QueryParams<PageParameters>,
) -> ApiResult<Json<AuditPageView>> {
    let (after, limit) = (cursor(asked.cursor.as_deref())?, limit(asked.limit)?);
    page(&state, after, limit).await.map(Json)
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct VerifyParameters {
    /// A `head` from an earlier response or from the log. The trail must still contain it.
    #[param(pattern = "^[1-9][0-9]{0,17}:[0-9a-f]{64}$")]
    pub(super) head: Option<String>,
}

/// Verifies that the audit trail has not been changed.
///
/// Each entry contains the hash of the one before. Store the `head` of a response elsewhere: without it, a trail that
/// was truncated or rewritten may go unnoticed.
#[utoipa::path(get, path = "/audit/verify", operation_id = "verifyAudit", tag = "audit",
    params(VerifyParameters),
    responses((status = 200, description = "The result of the verification.", body = AuditVerifiedView)),
    extensions(("x-problems" = json!([Code::InvalidParameter])))
)]
pub(super) async fn verify(
    Narrowed(state): Narrowed,
    QueryParams(asked): QueryParams<VerifyParameters>,
) -> ApiResult<Json<AuditVerifiedView>> {
    let kept: Option<AuditHead> = asked
        .head
        .map(|text| text.parse())
        .transpose()
        .map_err(|error: NotAHead| ApiError::invalid_parameter(error.to_string()))?;
    let found = state.engine.verify_audit(kept).await?;
    Ok(Json(AuditVerifiedView {
        intact: found.broken.is_none(),
        head: (found.head.seq > 0).then(|| found.head.to_string()),
        entries: found.entries,
        deleted: found.deleted,
        unchained: found.unchained,
        before: found.before,
        broken: found.broken.map(|broken| AuditBreakView {
            seq: broken.seq,
            why: broken.why.to_owned(),
        }),
    }))
}

/// One page of the audit trail.
pub async fn page(state: &AdminState, after: Option<Cursor>, limit: u32) -> ApiResult<AuditPageView> {
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
