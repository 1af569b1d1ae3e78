//! `GET /dead`: dead letters, grouped by destination and error, and individually, with forms to replay a group,
//! discard and restore.

mod replay;

use axum::response::{IntoResponse as _, Redirect, Response};
use hapax_core::store::{DeadQuery, Disposal};
use hapax_core::{DeliveryState, Timestamp};
use maud::{Markup, html};
use serde::Deserialize;

use super::done::Done;
use super::fields::Fields;
use super::form::form;
use super::frame::{self, Here};
use super::link;
use super::moment::moment;
use super::viewer::{Acting, Viewer};
use hapax_admin::admission::Narrowed;
use hapax_admin::api_error::ApiResult;
use hapax_admin::extract::{QueryParams, cursor, event_id, limit};
use hapax_admin::{AdminState, deliveries, events};
use hapax_api::path::Parameters as Query;
use hapax_api::readable;
use hapax_api::views::{DeadGroupView, DeliveriesView, DeliveryView};

pub(super) use replay::{ask, start};

const PATH: &str = "/dead";

/// The selected list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum List {
    #[default]
    Dead,
    Discarded,
}

impl List {
    const ALL: [Self; 2] = [Self::Dead, Self::Discarded];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Dead => "dead",
            Self::Discarded => "discarded",
        }
    }

    const fn state(self) -> DeliveryState {
        match self {
            Self::Dead => DeliveryState::Dead,
            Self::Discarded => DeliveryState::Discarded,
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Parameters {
    list: List,
    cursor: Option<String>,
}

pub(super) async fn page(
    Narrowed(state): Narrowed,
    viewer: Viewer,
    QueryParams(asked): QueryParams<Parameters>,
) -> ApiResult<Response> {
    let groups = deliveries::dead_groups(&state).await?.groups;
    let query = DeadQuery {
        state: asked.list.state(),
        destination: None,
    };
    let found = deliveries::page(&state, &query, cursor(asked.cursor.as_deref())?, limit(None)?).await?;
    let now = state.now();
    let content = html! {
        (groups_table(&viewer, &groups, now))
        h2 { "One by one" }
        ul class="tabs" {
            @for list in List::ALL {
                li { a href={ (PATH) "?list=" (list.as_str()) } aria-current=[(list == asked.list).then_some("page")] { (list.as_str()) } }
            }
        }
        (one_by_one(&viewer, asked.list, &found, now))
    };
    Ok(frame::page(&viewer, Here::Dead, "Dead letters", content))
}

fn groups_table(viewer: &Viewer, groups: &[DeadGroupView], now: Timestamp) -> Markup {
    if groups.is_empty() {
        return html! { p class="card empty" { "There are no dead letters." } };
    }
    html! {
        div class="table" {
            table {
                caption { "Dead letters by destination and error" }
                thead {
                    tr {
                        th scope="col" { "Destination" } th scope="col" { "Error" } th scope="col" class="number" { "Count" }
                        th scope="col" { "First" } th scope="col" { "Last" } th scope="col" { "Sample" } th scope="col" { "Replay" }
                    }
                }
                tbody { @for group in groups { (group_row(viewer, group, now)) } }
            }
        }
    }
}

fn group_row(viewer: &Viewer, group: &DeadGroupView, now: Timestamp) -> Markup {
    html! {
        tr {
            th scope="row" { (group.destination) }
            td { code { (group.error.as_deref().unwrap_or("unknown")) } }
            td class="number" { a href=(link::search(&group.q)) { (readable::count(group.count)) } }
            td { (moment(group.first_at, now)) }
            td { (moment(group.last_at, now)) }
            td { a href=(link::event(group.last_event)) { "the last one" } }
            td {
                (form(viewer, "/dead/replay", html! {
                    input type="hidden" name="q" value=(group.q);
                    input type="hidden" name="to" value=(group.destination_id);
                    button class="button" type="submit" aria-label={ "Replay " (group.count) " to " (group.destination) } { "Replay…" }
                }))
            }
        }
    }
}

fn one_by_one(viewer: &Viewer, list: List, found: &DeliveriesView, now: Timestamp) -> Markup {
    let more = |cursor: &str| {
        let query = Query::default()
            .with("list", Some(list.as_str()))
            .with("cursor", Some(cursor));
        query.on(PATH)
    };
    html! {
        @if found.deliveries.is_empty() {
            p class="card empty" { "There are no " (list.as_str()) " deliveries." }
        } @else {
            div class="table" {
                table {
                    thead {
                        tr {
                            th scope="col" { "Event" } th scope="col" { "Destination" } th scope="col" { "Error" }
                            th scope="col" class="number" { "Attempts" } th scope="col" { "Dead since" } th scope="col" { "Action" }
                        }
                    }
                    tbody { @for delivery in &found.deliveries { (delivery_row(viewer, list, delivery, now)) } }
                }
            }
        }
        @if let Some(next) = &found.next { p { a class="button" rel="next" href=(more(next)) { "Older" } } }
    }
}

fn delivery_row(viewer: &Viewer, list: List, delivery: &DeliveryView, now: Timestamp) -> Markup {
    let (action, word) = match list {
        List::Dead => ("/dead/discard", "Discard"),
        List::Discarded => ("/dead/restore", "Restore"),
    };
    html! {
        tr {
            th scope="row" { a href=(link::event(delivery.event)) { (delivery.event) } }
            td { (delivery.destination) }
            td { (delivery.error.as_deref().unwrap_or("–")) }
            td class="number" { (delivery.attempts) }
            td { @match delivery.finished_at { Some(at) => (moment(at, now)), None => "–" } }
            td {
                (form(viewer, action, html! {
                    input type="hidden" name="event" value=(delivery.event);
                    input type="hidden" name="destination" value=(delivery.destination_id);
                    button class="button quiet" type="submit" aria-label={ (word) " the delivery to " (delivery.destination) } { (word) }
                }))
            }
        }
    }
}

/// `POST /dead/discard`.
pub(super) async fn discard(
    Narrowed(state): Narrowed,
    Acting(viewer, fields): Acting,
) -> ApiResult<Response> {
    dispose(&state, &viewer, &fields, Disposal::Discard).await?;
    Ok(Redirect::to(&link::done(PATH, Done::Discarded)).into_response())
}

/// `POST /dead/restore`.
pub(super) async fn restore(
    Narrowed(state): Narrowed,
    Acting(viewer, fields): Acting,
) -> ApiResult<Response> {
    dispose(&state, &viewer, &fields, Disposal::Restore).await?;
    Ok(Redirect::to(&link::done(PATH, Done::Restored)).into_response())
}

async fn dispose(state: &AdminState, viewer: &Viewer, fields: &Fields, disposal: Disposal) -> ApiResult<()> {
    let event = event_id(fields.get("event").unwrap_or_default())?;
    let destination = fields.get("destination").unwrap_or_default();
    events::check_visible(state, event).await?;
    let chosen = vec![(event, state.settings.load().destination_or_id(destination))];
    state
        .engine
        .dispose(chosen, disposal, &viewer.caller.actor)
        .await?;
    Ok(())
}
