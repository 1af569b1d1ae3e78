//! `POST erasures`: erases the contents of events immediately.

use axum::Json;
use hapax_core::store::{EventQuery, Unfinished};
use serde::Deserialize;
use utoipa::ToSchema;

use super::access::Caller;
use super::admission::Narrowed;
use super::api_error::{ApiError, ApiResult};
use super::extract::JsonBody;
use super::filter::{self, search_cursor, search_cursor_text};
use super::{show, sight};
use hapax_api::problem::Code;
use hapax_api::query;
use hapax_api::views::ErasureView;

/// The events to erase.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Erase {
    /// The events to erase, in the query language.
    #[schema(schema_with = hapax_api::schemas::query_text)]
    query: String,
    /// Whether to discard unfinished deliveries [default: false]. If false, events with unfinished deliveries are not
    /// erased.
    #[serde(default)]
    discard_unfinished: bool,
    /// The `next` of the previous response.
    #[schema(pattern = "^[0-9a-f]{16}(\\.[0-9]{1,5})?$")]
    cursor: Option<String>,
}

/// Erases a page of matching events: headers, body, conflicts and the responses of destinations.
///
/// Repeat the request with `next` as `cursor` until `next` is null. The ledger still remembers the events, so a
/// redelivery is still a duplicate. An erasure cannot be undone; repeating it changes nothing.
#[utoipa::path(post, path = "/erasures", operation_id = "eraseEvents", tag = "events",
    request_body = Erase,
    responses((status = 200, description = "The result of the erasure.", body = ErasureView)),
    extensions(("x-problems" = json!([Code::InvalidParameter, Code::MalformedBody, Code::BodyTooLarge])))
)]
pub(super) async fn erase(
    Narrowed(state): Narrowed,
    caller: Caller,
    JsonBody(asked): JsonBody<Erase>,
) -> ApiResult<Json<ErasureView>> {
    let query = filter::read(&state, &asked.query)?;
    if query == EventQuery::default() {
        return Err(ApiError::invalid_parameter(
            "`query` is empty, which would select every event; add at least one term, such as source:stripe",
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

/// The query for the audit trail, without body values: they would remain there after the body is gone.
fn without_values(mut query: EventQuery) -> String {
    for term in &mut query.body {
        sight::HIDDEN.clone_into(&mut term.value);
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
