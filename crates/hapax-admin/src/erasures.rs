//! `POST erasures`: removes what events brought, at once.

use axum::Json;
use hapax_core::store::{EventQuery, Unfinished};
use serde::Deserialize;
use utoipa::ToSchema;

use super::access::{Caller, Narrowed};
use super::api_error::{ApiError, ApiResult};
use super::extract::JsonBody;
use super::filter::{self, search_cursor, search_cursor_text};
use super::show;
use hapax_api::query;
use hapax_api::views::ErasureView;

/// Which events.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Erase {
    /// Which events, in the query language.
    #[schema(schema_with = hapax_api::schemas::query_text)]
    query: String,
    /// Discard deliveries that are not finished; without it, their events are left as they are.
    #[serde(default)]
    discard_unfinished: bool,
    /// Where to go on: the `next` of the answer before.
    #[schema(pattern = "^[0-9a-f]{16}(\\.[0-9]{1,5})?$")]
    cursor: Option<String>,
}

/// Erases a page of the events that match: headers, body, conflicts and what destinations answered.
///
/// Go on with `next` until it is null. The ledger remembers the events, so that a copy is still a duplicate. It cannot be
/// undone; doing it again changes nothing.
#[utoipa::path(post, path = "/erasures", operation_id = "eraseEvents", tag = "events",
    request_body = Erase,
    responses((status = 200, description = "What was erased.", body = ErasureView)),
    extensions(("x-problems" = json!(["invalid_parameter", "malformed_body", "body_too_large"])))
)]
pub(super) async fn erase(
    Narrowed(state): Narrowed,
    caller: Caller,
    JsonBody(asked): JsonBody<Erase>,
) -> ApiResult<Json<ErasureView>> {
    let query = filter::read(&state.settings.load(), &asked.query)?;
    if query == EventQuery::default() {
        return Err(ApiError::invalid_parameter(
            "`query` is empty, which means every event ever; name at least one term, such as source:stripe",
        ));
    }
    let query = state.visible.narrow_to_one(query)?;
    let after = search_cursor(asked.cursor.as_deref())?;
    let unfinished = if asked.discard_unfinished {
        Unfinished::Discard
    } else {
        Unfinished::Keep
    };
    let named = without_values(query.clone());
    let erasure = state
        .engine
        .erase((&query, &named), after, unfinished, &caller.actor)
        .await?;
    Ok(Json(ErasureView {
        erased: erasure.erased,
        discarded: erasure.discarded,
        before: erasure.before,
        unfinished: erasure.unfinished,
        next: erasure.next.map(search_cursor_text),
        coverage: show::coverage(erasure.coverage),
    }))
}

/// The query as the audit trail keeps it: a value of a body would stay there after the body is gone.
fn without_values(mut query: EventQuery) -> String {
    for term in &mut query.body {
        show::HIDDEN.clone_into(&mut term.value);
    }
    query::print(&query)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_audit_trail_does_not_repeat_what_was_erased() {
        let now = hapax_core::Timestamp::from_seconds(0);
        let query = query::parse("source:shop body:/email=ada@example.com", now).unwrap();
        assert_eq!(without_values(query), "source:shop body:/email=***");
    }
}
