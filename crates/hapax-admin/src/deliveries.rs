//! `GET deliveries?status=dead|discarded`, `GET deliveries/groups`, `POST deliveries/discard`, `POST deliveries/restore`.
//!
//! Discarding marks dead letters as irrelevant: their lanes continue, and they are no longer counted. Nothing is
//! deleted before its retention ends, so a discard can be undone for as long as `dead_retention` keeps the dead
//! letter.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use axum::Json;
use hapax_core::store::{Actor, Cursor, DeadQuery, DeliveryView, Disposal};
use hapax_core::{DeliveryState, DestinationId, EventId};
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;
use utoipa::ToSchema;

use super::access::Caller;
use super::admission::Narrowed;
use super::api_error::{ApiError, ApiResult};
use super::events;
use super::extract::{JsonBody, PAGE_MAX, QueryParams, cursor, cursor_text, limit};
use super::show::{self, Names};
use super::state::AdminState;
use hapax_api::problem::Code;
use hapax_api::views::{DeadGroupsView, DeliveriesView, DisposedView};

/// Maximum number of deliveries named in one request.
const NAMED_MAX: usize = 1_000;
/// Maximum number of deliveries that one request by query changes. The response says whether there are more.
const BY_QUERY_MAX: u64 = 10_000;

/// Maximum number of groups of dead letters in one response. The largest groups come first.
const GROUPS_MAX: u32 = 200;

/// The finished states that can be listed.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum FinishedStatus {
    #[default]
    Dead,
    Discarded,
}

impl FinishedStatus {
    const fn state(self) -> DeliveryState {
        match self {
            Self::Dead => DeliveryState::Dead,
            Self::Discarded => DeliveryState::Discarded,
        }
    }
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListParameters {
    /// The status of the deliveries [default: `dead`].
    #[param(inline)]
    status: FinishedStatus,
    /// Only deliveries to this destination, by name or id.
    destination: Option<String>,
    /// The `next` of the previous page.
    #[param(pattern = "^[0-9a-f]{16}$")]
    cursor: Option<String>,
    /// The maximum number of deliveries [default: 50].
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
}

/// A selection of deliveries: named individually, or by query.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(as = DeliveryChoice, min_properties = 1, max_properties = 1)]
pub(super) struct Choice {
    /// Individual deliveries.
    #[schema(min_items = 1, max_items = 1000)]
    deliveries: Vec<NamedDelivery>,
    /// Deliveries by query; at most 10,000 change in one request.
    #[schema(value_type = Query, required = false)]
    query: Option<Query>,
}

#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NamedDelivery)]
struct NamedDelivery {
    /// The Hapax id of the event.
    #[schema(value_type = String, format = "uuid")]
    event: EventId,
    /// The destination's name or id [default: every delivery of the event].
    destination: Option<String>,
}

#[derive(Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(as = DeliveryQuery)]
struct Query {
    /// The destination's name or id [default: all destinations].
    destination: Option<String>,
}

/// Lists dead or discarded deliveries, newest first.
#[utoipa::path(get, path = "/deliveries", operation_id = "listDeliveries", tag = "deliveries",
    params(ListParameters),
    responses((status = 200, description = "A page of deliveries.", body = DeliveriesView)),
    extensions(("x-problems" = json!([Code::InvalidParameter])))
)]
pub(super) async fn list(
    Narrowed(state): Narrowed,
    QueryParams(asked): QueryParams<ListParameters>,
) -> ApiResult<Json<DeliveriesView>> {
    let (after, limit) = (cursor(asked.cursor.as_deref())?, limit(asked.limit)?);
    let destination = asked.destination.as_deref().map(|name| known_or_id(&state, name));
    let query = DeadQuery {
        state: asked.status.state(),
        destination,
    };
    page(&state, &query, after, limit).await.map(Json)
}

/// Lists dead deliveries by destination and error, largest first.
///
/// To replay a group, start a bulk replay with its `q`, and its `destination` as `to`.
#[utoipa::path(get, path = "/deliveries/groups", operation_id = "listDeadGroups", tag = "deliveries",
    responses((status = 200, description = "The groups, at most 200.", body = DeadGroupsView)))]
pub(super) async fn groups(Narrowed(state): Narrowed) -> ApiResult<Json<DeadGroupsView>> {
    dead_groups(&state).await.map(Json)
}

/// One page of finished deliveries.
pub async fn page(
    state: &AdminState,
    query: &DeadQuery,
    after: Option<Cursor>,
    limit: u32,
) -> ApiResult<DeliveriesView> {
    let (mut found, next) = state.engine.store().deliveries(query, after, limit).await?;
    narrow(state, &mut found).await?;
    let settings = state.settings.load();
    let names = Names::now(state, &settings);
    Ok(DeliveriesView {
        deliveries: found.iter().map(|view| names.delivery(view)).collect(),
        next: next.map(cursor_text),
    })
}

/// Dead letters grouped by destination and error.
pub async fn dead_groups(state: &AdminState) -> ApiResult<DeadGroupsView> {
    let groups = state.engine.store().dead_groups(GROUPS_MAX).await?;
    let settings = state.settings.load();
    let is_visible = |id| state.visible.is_all() || settings.by_id(id).is_some();
    let groups = groups.iter().filter(|group| is_visible(&group.destination));
    let groups = groups.map(|group| show::dead_group(&settings, group));
    Ok(DeadGroupsView {
        groups: groups.collect(),
    })
}

/// Discards dead deliveries.
///
/// Their lanes continue. Nothing is deleted before its retention ends, so a discard can be undone.
#[utoipa::path(post, path = "/deliveries/discard", operation_id = "discardDeliveries", tag = "deliveries",
    request_body = Choice,
    responses((status = 200, description = "The number of deliveries that changed.", body = DisposedView)),
    extensions(("x-problems" = json!([Code::InvalidParameter, Code::MalformedBody, Code::BodyTooLarge, Code::EventNotFound])))
)]
pub(super) async fn discard(
    Narrowed(state): Narrowed,
    caller: Caller,
    JsonBody(choice): JsonBody<Choice>,
) -> ApiResult<Json<DisposedView>> {
    dispose(&state, choice, Disposal::Discard, &caller.actor)
        .await
        .map(Json)
}

/// Restores discarded deliveries, for as long as `dead_retention` keeps them.
#[utoipa::path(post, path = "/deliveries/restore", operation_id = "restoreDeliveries", tag = "deliveries",
    request_body = Choice,
    responses((status = 200, description = "The number of deliveries that changed.", body = DisposedView)),
    extensions(("x-problems" = json!([Code::InvalidParameter, Code::MalformedBody, Code::BodyTooLarge, Code::EventNotFound])))
)]
pub(super) async fn restore(
    Narrowed(state): Narrowed,
    caller: Caller,
    JsonBody(choice): JsonBody<Choice>,
) -> ApiResult<Json<DisposedView>> {
    dispose(&state, choice, Disposal::Restore, &caller.actor)
        .await
        .map(Json)
}

async fn dispose(
    state: &AdminState,
    choice: Choice,
    disposal: Disposal,
    who: &Actor,
) -> ApiResult<DisposedView> {
    match (choice.deliveries.is_empty(), choice.query) {
        (false, None) => dispose_named(state, choice.deliveries, disposal, who).await,
        (true, Some(query)) => dispose_by_query(state, &query, disposal, who).await,
        (true, None) | (false, Some(_)) => Err(ApiError::invalid_parameter(
            "send either `deliveries`, a list of {\"event\": …, \"destination\": …}, or `query`, such as \
             {\"destination\": \"billing\"}",
        )),
    }
}

async fn dispose_named(
    state: &AdminState,
    named: Vec<NamedDelivery>,
    disposal: Disposal,
    who: &Actor,
) -> ApiResult<DisposedView> {
    if named.len() > NAMED_MAX {
        let detail = format!(
            "{} deliveries are listed; at most {NAMED_MAX} are allowed in one request",
            named.len()
        );
        return Err(ApiError::invalid_parameter(detail));
    }
    let mut chosen = Vec::with_capacity(named.len());
    for NamedDelivery { event, destination } in named {
        match destination {
            Some(name) => {
                events::check_visible(state, event).await?;
                chosen.push((event, known_or_id(state, &name)));
            }
            None => chosen.extend(deliveries_of(state, event).await?),
        }
    }
    let changed = state.engine.dispose(chosen, disposal, who).await?;
    Ok(DisposedView { changed, more: false })
}

async fn deliveries_of(state: &AdminState, event: EventId) -> ApiResult<Vec<(EventId, DestinationId)>> {
    let record = events::record(state, event).await?;
    Ok(record
        .deliveries
        .into_iter()
        .map(|delivery| (event, delivery.destination))
        .collect())
}

/// Page by page, newest first, so that deliveries that become dead during the request are not included.
async fn dispose_by_query(
    state: &AdminState,
    query: &Query,
    disposal: Disposal,
    who: &Actor,
) -> ApiResult<DisposedView> {
    let from = match disposal {
        Disposal::Discard => DeliveryState::Dead,
        Disposal::Restore => DeliveryState::Discarded,
    };
    let destination = query.destination.as_deref().map(|name| known_or_id(state, name));
    let query = DeadQuery {
        state: from,
        destination,
    };
    let (mut changed, mut after) = (0, None);
    loop {
        let (mut page, next) = state.engine.store().deliveries(&query, after, PAGE_MAX).await?;
        narrow(state, &mut page).await?;
        let chosen: Vec<_> = page
            .into_iter()
            .map(|view| (view.event, view.destination))
            .collect();
        if !chosen.is_empty() {
            changed += state.engine.dispose(chosen, disposal, who).await?;
        }
        match next {
            None => return Ok(DisposedView { changed, more: false }),
            Some(_) if changed >= BY_QUERY_MAX => return Ok(DisposedView { changed, more: true }),
            Some(next) => after = Some(next),
        }
    }
}

/// Keeps only deliveries of events that the caller sees. The store does not record the source of a delivery.
async fn narrow(state: &AdminState, deliveries: &mut Vec<DeliveryView>) -> ApiResult<()> {
    if state.visible.is_all() {
        return Ok(());
    }
    let mut seen = HashMap::new();
    for delivery in &*deliveries {
        if let Entry::Vacant(entry) = seen.entry(delivery.event) {
            entry.insert(events::is_visible(state, delivery.event).await?);
        }
    }
    deliveries.retain(|delivery| seen.get(&delivery.event) == Some(&true));
    Ok(())
}

/// A destination that is no longer configured can have dead letters, too.
fn known_or_id(state: &AdminState, name: &str) -> DestinationId {
    state.settings.load().destination_or_id(name)
}
