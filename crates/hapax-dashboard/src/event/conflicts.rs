//! Conflicting bodies under the same id: each compared with the first, with a form to release it.

use axum::response::{IntoResponse as _, Redirect, Response};
use hapax_core::Timestamp;
use maud::{Markup, html};

use super::super::done::Done;
use super::super::form::form;
use super::super::link;
use super::super::moment::moment;
use super::super::viewer::{Acting, Viewer};
use hapax_admin::admission::Narrowed;
use hapax_admin::api_error::ApiResult;
use hapax_admin::extract::PathParams;
use hapax_admin::sight::VisibleRecord;
use hapax_admin::{AdminState, conflicts, diff};
use hapax_api::readable;
use hapax_api::views::{ConflictView, DiffKind, DiffLineView, DiffSide, DiffView, EventView};

pub(super) async fn section(
    state: &AdminState,
    viewer: &Viewer,
    record: &VisibleRecord,
    view: &EventView,
    now: Timestamp,
) -> ApiResult<Markup> {
    let mut compared = Vec::with_capacity(record.conflicts.len());
    for (kept, shown) in record.conflicts.iter().zip(&view.conflicts) {
        let variant = conflicts::visible(state, viewer.caller.role, view.id, kept.raw_hash).await?;
        let diff = variant.map(|variant| diff::of(&record.event.body, &variant.body));
        compared.push((shown, diff));
    }
    Ok(html! {
        @if !compared.is_empty() {
            section aria-labelledby="conflicts" {
                h2 id="conflicts" { "Conflicts" }
                p { "These bodies arrived under the same id and differ from the first. They were not delivered. Release one if it is a separate event." }
                div class="stack" { @for (conflict, diff) in &compared { (card(viewer, view, conflict, diff.as_ref(), now)) } }
            }
        }
    })
}

/// `POST /events/{id}/conflicts/{hash}/release`.
pub(crate) async fn release(
    Narrowed(state): Narrowed,
    PathParams((id, hash)): PathParams<(String, String)>,
    Acting(viewer, _): Acting,
) -> ApiResult<Response> {
    let released = conflicts::released(&state, &id, &hash, &viewer.caller.actor).await?;
    Ok(Redirect::to(&link::done(&link::event(released.first), Done::Released)).into_response())
}

fn card(
    viewer: &Viewer,
    view: &EventView,
    conflict: &ConflictView,
    diff: Option<&DiffView>,
    now: Timestamp,
) -> Markup {
    let action = format!(
        "{}/conflicts/{}/release",
        link::event(view.id),
        conflict.body_sha256
    );
    html! {
        article class="card stack" {
            p {
                "Arrived " (conflict.seen) @if conflict.seen == 1 { " time" } @else { " times" } ", first " (moment(conflict.received_at, now))
                ", " (readable::size(conflict.body_bytes)) ", SHA-256 " code class="wrap" { (conflict.body_sha256) }
            }
            @match diff {
                Some(diff) => (lines(diff)),
                None => p class="muted" { "Its body is no longer stored." },
            }
            @match conflict.released_as {
                Some(id) => p { "Released as " a href=(link::event(id)) { (id) } "." },
                None => (form(viewer, &action, html! { button class="button" type="submit" { "Release as a separate event" } })),
            }
        }
    }
}

fn lines(diff: &DiffView) -> Markup {
    html! {
        p class="muted" { (kind(diff)) @if diff.is_cut { " A limit was reached: not everything is shown." } }
        @if !diff.lines.is_empty() {
            div class="table diff" tabindex="0" role="region" aria-label="Differences between the two bodies" {
                table {
                    thead { tr { th scope="col" class="number" { "First" } th scope="col" class="number" { "Other" } th scope="col" { "Line" } } }
                    tbody { @for one in &diff.lines { (line(one)) } }
                }
            }
        }
    }
}

fn kind(diff: &DiffView) -> String {
    match diff.kind {
        DiffKind::Json => "Compared as JSON: the order of keys and white space are ignored.".to_owned(),
        DiffKind::Text => "Compared line by line.".to_owned(),
        DiffKind::Binary => format!(
            "At least one of the two is not text: {} against {}.",
            readable::size(diff.first_bytes),
            readable::size(diff.other_bytes)
        ),
    }
}

fn line(line: &DiffLineView) -> Markup {
    let (class, mark, word) = match line.side {
        DiffSide::Both => ("", " ", ""),
        DiffSide::First => ("first", "−", "only in the first: "),
        DiffSide::Other => ("other", "+", "only in the other: "),
    };
    let number = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
    html! {
        tr class=(class) {
            td class="number" { (number(line.first_line)) }
            td class="number" { (number(line.other_line)) }
            td { code { span aria-hidden="true" { (mark) " " } span class="visually-hidden" { (word) } (line.text) } }
        }
    }
}
