//! `GET outbox` and `POST outbox/{name}/{id}/retry`: the state of the outboxes, and retries of refused rows.

use std::sync::Arc;

use axum::Json;
use futures_util::future::join_all;
use hapax_core::store::Actor;

use super::access::Caller;
use super::admission::Narrowed;
use super::api_error::{ApiError, ApiResult};
use super::extract::PathParams;
use super::state::AdminState;
use hapax_api::problem::Code;
use hapax_api::views::{OutboxRetriedView, OutboxRowView, OutboxView, OutboxesView};
use hapax_config::Outbox;
use hapax_delivery::outbox::{Counts, RefusedRow, Table, TableError, full_name};

/// Lists the outboxes with their rows by state, and the first refused rows with the reason.
#[utoipa::path(get, path = "/outbox", operation_id = "listOutboxes", tag = "outbox",
    responses((status = 200, description = "All outboxes.", body = OutboxesView)))]
pub(super) async fn list(Narrowed(state): Narrowed) -> Json<OutboxesView> {
    Json(all(&state).await)
}

/// All outboxes and their states.
pub async fn all(state: &AdminState) -> OutboxesView {
    let views = tables(state).into_iter().map(|(outbox, table)| async move {
        let counted = table.counts().await;
        view(&outbox, counted)
    });
    OutboxesView {
        outboxes: join_all(views).await,
    }
}

/// Retries a refused row.
#[utoipa::path(post, path = "/outbox/{name}/{id}/retry", operation_id = "retryOutboxRow", tag = "outbox",
    params(("name" = String, Path, description = "The outbox's name.", min_length = 1), ("id" = i64, Path, description = "The row's id.")),
    responses((status = 200, description = "The row will be retried.", body = OutboxRetriedView)),
    extensions(("x-problems" = json!([Code::InvalidParameter, Code::OutboxRowNotFound, Code::OutboxUnavailable])))
)]
pub(super) async fn retry(
    Narrowed(state): Narrowed,
    caller: Caller,
    PathParams((name, id)): PathParams<(String, i64)>,
) -> ApiResult<Json<OutboxRetriedView>> {
    retried(&state, name, id, &caller.actor).await.map(Json)
}

/// Retries a refused row.
pub async fn retried(state: &AdminState, name: String, id: i64, who: &Actor) -> ApiResult<OutboxRetriedView> {
    let missing = || {
        let detail = format!(
            "the outbox `{name}` has no refused row {id}; `hapax outbox list` shows the outboxes and their refused rows"
        );
        ApiError::new(Code::OutboxRowNotFound, detail)
    };
    let found = tables(state).into_iter().find(|(outbox, _)| outbox.name == name);
    let (_, table) = found.ok_or_else(missing)?;
    if !table.retry(id).await.map_err(|error| unavailable(&error))? {
        return Err(missing());
    }
    let entry = who.entry("outbox retry", format!("{name} {id}"), "");
    state.engine.record(entry).await?;
    Ok(OutboxRetriedView { outbox: name, id })
}

fn tables(state: &AdminState) -> Vec<(Outbox, Arc<dyn Table>)> {
    let outboxes = state.outboxes.as_ref();
    let mut tables = outboxes.map(|outboxes| outboxes.tables()).unwrap_or_default();
    tables.retain(|(outbox, _)| state.visible.sees(&full_name(&outbox.name)));
    tables
}

fn unavailable(error: &TableError) -> ApiError {
    ApiError::new(Code::OutboxUnavailable, error.to_string())
}

fn view(outbox: &Outbox, counted: Result<Counts, TableError>) -> OutboxView {
    let (counts, problem) = match counted {
        Ok(counts) => (counts, None),
        Err(error) => (Counts::default(), Some(error.to_string())),
    };
    OutboxView {
        name: outbox.name.clone(),
        url: outbox.url.to_string(),
        pending: counts.pending,
        leased: counts.leased,
        relayed: counts.relayed,
        refused: counts.refused,
        oldest_at: counts.oldest_at,
        refused_rows: counts.refused_rows.into_iter().map(row).collect(),
        problem,
    }
}

fn row(row: RefusedRow) -> OutboxRowView {
    OutboxRowView {
        id: row.id,
        idempotency_key: row.idempotency_key,
        order_key: row.order_key,
        error: row.error,
    }
}
