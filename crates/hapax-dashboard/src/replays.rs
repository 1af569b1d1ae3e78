//! `GET /replays` and `GET /replays/{id}`: bulk replays, their progress, and the form to cancel one.

use axum::response::{IntoResponse as _, Redirect, Response};
use hapax_core::store::ReplayJobState;
use hapax_core::{DestinationId, Timestamp};
use http::HeaderValue;
use http::header::REFRESH;
use maud::{Markup, html};
use serde::Deserialize;

use super::done::Done;
use super::form::form;
use super::frame::{self, Here};
use super::link;
use super::moment::moment;
use super::status::{Tone, badge};
use super::viewer::{Acting, Viewer};
use hapax_admin::admission::Narrowed;
use hapax_admin::api_error::ApiResult;
use hapax_admin::extract::{PathParams, QueryParams, cursor, limit};
use hapax_admin::replays;
use hapax_admin::replays::job_id;
use hapax_api::readable;
use hapax_api::views::ReplayJobView;

/// How often the page of a running job reloads, in seconds.
const REFRESH_SECONDS: &str = "2";

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ListParameters {
    cursor: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct OneParameters {
    /// The number of events in the preview.
    of: Option<u64>,
}

pub(super) async fn page(
    Narrowed(state): Narrowed,
    viewer: Viewer,
    QueryParams(asked): QueryParams<ListParameters>,
) -> ApiResult<Response> {
    let found = replays::page(&state, cursor(asked.cursor.as_deref())?, limit(None)?).await?;
    let now = state.now();
    let content = html! {
        @if found.replays.is_empty() {
            p class="card empty" { "No group has been replayed yet. " a href="/dead" { "Dead letters" } " are where a replay starts." }
        } @else {
            (table(&found.replays, now))
        }
        @if let Some(next) = &found.next { p { a class="button" rel="next" href=(link::next("/replays", next)) { "Older" } } }
    };
    Ok(frame::page(&viewer, Here::Replays, "Replays", content))
}

pub(super) async fn one(
    Narrowed(state): Narrowed,
    viewer: Viewer,
    PathParams(id): PathParams<String>,
    QueryParams(asked): QueryParams<OneParameters>,
) -> ApiResult<Response> {
    let job = replays::find(&state, job_id(&id)?).await?;
    let to = job
        .to
        .as_deref()
        .map(|id| state.settings.load().name_of(&DestinationId::from(id)));
    let now = state.now();
    let content = html! {
        (progress(&job, asked.of))
        (facts(&job, to.as_deref(), now))
        @if is_running(&job) {
            (form(&viewer, &format!("/replays/{}/cancel", job.id), html! {
                button class="button danger" type="submit" { "Cancel this replay" }
            }))
        }
    };
    let mut response = frame::page(&viewer, Here::Replays, "Replay", content);
    if is_running(&job) {
        // The page reloads without JavaScript, too.
        let every = HeaderValue::from_static(REFRESH_SECONDS);
        response.headers_mut().insert(REFRESH, every);
    }
    Ok(response)
}

pub(super) async fn cancel(
    Narrowed(state): Narrowed,
    PathParams(id): PathParams<String>,
    Acting(viewer, _): Acting,
) -> ApiResult<Response> {
    let job = replays::cancelled(&state, job_id(&id)?, &viewer.caller.actor).await?;
    let page = format!("/replays/{}", job.id);
    Ok(Redirect::to(&link::done(&page, Done::ReplayCancelled)).into_response())
}

fn is_running(job: &ReplayJobView) -> bool {
    match job.state {
        ReplayJobState::Running => true,
        ReplayJobState::Done | ReplayJobState::Cancelled => false,
    }
}

fn state_badge(state: ReplayJobState) -> Markup {
    match state {
        ReplayJobState::Running => badge(Tone::Busy, "running"),
        ReplayJobState::Done => badge(Tone::Good, "done"),
        ReplayJobState::Cancelled => badge(Tone::Plain, "cancelled"),
    }
}

fn progress(job: &ReplayJobView, of: Option<u64>) -> Markup {
    let looked_at = job.tally.matched;
    let of = of.filter(|of| *of > 0).map(|of| of.max(looked_at));
    html! {
        div class="card stack" {
            p { (state_badge(job.state)) " " (readable::count(looked_at)) @if let Some(of) = of { " of " (readable::count(of)) } " events examined" }
            @if is_running(job) {
                @match of {
                    Some(of) => progress max=(of) value=(looked_at) aria-label="Progress" {},
                    None => progress aria-label="Progress" {},
                }
                p class="muted small" { "This page reloads every " (REFRESH_SECONDS) " s. The replay continues if you leave it, and after a restart." }
            } @else {
                progress max="1" value=(if job.state == ReplayJobState::Done { "1" } else { "0" }) aria-label="Progress" {}
            }
        }
    }
}

fn facts(job: &ReplayJobView, to: Option<&str>, now: Timestamp) -> Markup {
    let tally = job.tally;
    html! {
        dl class="kv card" {
            dt { "Events" } dd { a href=(link::search(&job.q)) { code { (job.q) } } }
            dt { "Mode" } dd { (format!("{:?}", job.mode).to_lowercase()) }
            dt { "To" } dd { (to.unwrap_or("every destination of each event")) }
            dt { "Started" } dd { (moment(job.as_of, now)) " by " (job.who) }
            @if !job.why.is_empty() { dt { "Reason" } dd { (job.why) } }
            dt { "Rate" } dd { "at most " (readable::count(job.rate_per_second.into())) " events a second" }
            dt { "Requeued" } dd { (readable::count(tally.replayed)) " deliveries" }
            dt { "Refused" } dd { (readable::count(tally.unfinished)) " events, because of unfinished deliveries" }
            dt { "Skipped" } dd { (readable::count(tally.skipped)) " events, which had no matching delivery or were deleted" }
            dt { "Id" } dd { code { (job.id) } }
        }
    }
}

fn table(jobs: &[ReplayJobView], now: Timestamp) -> Markup {
    html! {
        div class="table" {
            table {
                thead {
                    tr {
                        th scope="col" { "Started" } th scope="col" { "State" } th scope="col" { "Events" } th scope="col" { "Who" }
                        th scope="col" class="number" { "Examined" } th scope="col" class="number" { "Requeued" } th scope="col" { "Reason" }
                    }
                }
                tbody {
                    @for job in jobs {
                        tr {
                            th scope="row" { a href={ "/replays/" (job.id) } { (moment(job.as_of, now)) } }
                            td { (state_badge(job.state)) }
                            td class="wrap" { code { (job.q) } }
                            td { (job.who) }
                            td class="number" { (readable::count(job.tally.matched)) }
                            td class="number" { (readable::count(job.tally.replayed)) }
                            td class="wrap" { (job.why) }
                        }
                    }
                }
            }
        }
    }
}
