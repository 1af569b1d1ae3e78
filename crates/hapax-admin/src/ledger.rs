//! `GET ledger/{source}/{event_id}` and `DELETE ledger/{source}/{event_id}`: looks up and forgets ids.

use axum::Json;
use hapax_core::Identity;
use hapax_core::store::{Actor, Forgotten};

use super::access::Caller;
use super::admission::Narrowed;
use super::api_error::{ApiError, ApiResult};
use super::extract::PathParams;
use super::state::AdminState;
use hapax_api::problem::Code;
use hapax_api::views::{ForgottenView, LedgerView};

/// Shows what the ledger knows about an id: when it was first seen, when it expires, and its duplicates.
#[utoipa::path(get, path = "/ledger/{source}/{*event_id}", operation_id = "getLedgerEntry", tag = "ledger",
    params(("source" = String, Path, description = "The source's name.", min_length = 1), ("event_id" = String, Path, description = "The provider's id, percent-encoded; it may contain slashes.", min_length = 1)),
    responses((status = 200, description = "The ledger entry.", body = LedgerView)),
    extensions(("x-problems" = json!([Code::InvalidParameter, Code::UnknownSource, Code::LedgerEntryNotFound])))
)]
pub(super) async fn show(
    Narrowed(state): Narrowed,
    PathParams((source, event_id)): PathParams<(String, String)>,
) -> ApiResult<Json<LedgerView>> {
    entry(&state, source, event_id).await.map(Json)
}

/// Forgets an id, so that the next event with this id is new.
///
/// This takes ten seconds, the lifetime of every cache that could still answer for the old entry.
#[utoipa::path(delete, path = "/ledger/{source}/{*event_id}", operation_id = "forgetLedgerEntry", tag = "ledger",
    params(("source" = String, Path, description = "The source's name.", min_length = 1), ("event_id" = String, Path, description = "The provider's id, percent-encoded; it may contain slashes.", min_length = 1)),
    responses((status = 200, description = "The id was forgotten.", body = ForgottenView)),
    extensions(("x-problems" = json!([Code::InvalidParameter, Code::UnknownSource, Code::LedgerEntryNotFound, Code::DeliveriesUnfinished])))
)]
pub(super) async fn forget(
    Narrowed(state): Narrowed,
    caller: Caller,
    PathParams((source, event_id)): PathParams<(String, String)>,
) -> ApiResult<Json<ForgottenView>> {
    forgotten(&state, source, event_id, &caller.actor).await.map(Json)
}

/// What the ledger knows about an id.
pub(crate) async fn entry(state: &AdminState, source: String, event_id: String) -> ApiResult<LedgerView> {
    let identity = identity(state, &source, event_id)?;
    let store = state.engine.store();
    let entry = store.look_up(&identity).await?;
    let entry = entry.ok_or_else(|| unknown(&source, &identity))?;
    let duplicates = store.duplicates(&identity).await?;
    Ok(LedgerView {
        source,
        scope: identity.scope.to_string(),
        event_id: identity.event_id,
        id: entry.id,
        generation: entry.generation.0,
        first_seen: entry.first_seen,
        expires_at: entry.expires_at,
        window_left_seconds: entry.expires_at.since(state.now()).as_secs(),
        body_sha256: entry.raw_hash.to_string(),
        duplicates: duplicates.as_ref().map_or(0, |tally| tally.count),
        last_at: duplicates.map(|tally| tally.last_at),
    })
}

/// Forgets an id.
pub async fn forgotten(
    state: &AdminState,
    source: String,
    event_id: String,
    who: &Actor,
) -> ApiResult<ForgottenView> {
    let identity = identity(state, &source, event_id)?;
    match state.engine.forget(&identity, who).await? {
        Forgotten::Done { next } => Ok(ForgottenView {
            source,
            scope: identity.scope.to_string(),
            event_id: identity.event_id,
            next_generation: next.0,
        }),
        Forgotten::Unfinished => Err(ApiError::new(
            Code::DeliveriesUnfinished,
            format!(
                "`{}` has unfinished deliveries; if it is forgotten now, it could take effect twice. Wait until they \
             finish, or discard them once they are dead",
                identity.event_id
            ),
        )),
        Forgotten::NotFound => Err(unknown(&source, &identity)),
    }
}

fn identity(state: &AdminState, source: &str, event_id: String) -> ApiResult<Identity> {
    let scope = state.settings.load().source(source)?.scope.clone();
    Ok(Identity::new(scope, event_id))
}

fn unknown(source: &str, identity: &Identity) -> ApiError {
    let detail = format!(
        "the ledger of `{source}` does not contain `{}`: it never arrived, was forgotten, or is older than the \
         ledger_window",
        identity.event_id
    );
    ApiError::new(Code::LedgerEntryNotFound, detail)
}
