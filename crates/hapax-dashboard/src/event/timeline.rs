//! Deliveries and their attempts: on a time axis and as tables.

use std::time::Duration;

use hapax_core::Timestamp;
use maud::{Markup, html};

use super::super::moment::moment;
use super::super::status::{Tone, badge};
use hapax_api::readable;
use hapax_api::views::{AttemptView, DeliveryStatus, DeliveryView, EventView};

const WIDTH: f64 = 700.0;
const ROW: f64 = 24.0;
/// Space for the names of destinations.
const LEFT: f64 = 120.0;
/// Minimum width of an attempt: milliseconds would be invisible next to hours.
const BAR_MIN: f64 = 3.0;
/// Maximum length of a name next to the axis.
const NAME_CHARACTERS_MAX: usize = 18;
/// Maximum number of attempts shown on a page. Only many replays lead to more.
const ATTEMPTS_MAX: usize = 200;

pub(super) fn section(view: &EventView, now: Timestamp) -> Markup {
    let cut = view.attempts.len().saturating_sub(ATTEMPTS_MAX);
    let mut attempts = view.attempts.clone();
    attempts.sort_by_key(|attempt| attempt.started_at);
    let attempts = attempts.get(cut..).unwrap_or_default();
    html! {
        section aria-labelledby="deliveries" {
            h2 id="deliveries" { "Deliveries" }
            @if view.deliveries.is_empty() {
                p class="card empty" { "It has no destination: no destination of its source accepts it." }
            } @else {
                (axis(view, attempts))
                (deliveries(&view.deliveries, now))
            }
            @if !attempts.is_empty() {
                h3 { "Attempts" }
                @if cut > 0 { p class="notice" { "The first " (cut) " attempts are not shown; the API returns all of them." } }
                (attempts_table(attempts))
            }
        }
    }
}

fn axis(view: &EventView, attempts: &[AttemptView]) -> Markup {
    let from = view.received_at;
    let ends = attempts
        .iter()
        .map(|attempt| attempt.started_at.plus(took(attempt)));
    let until = ends
        .chain([from.plus(Duration::from_millis(1))])
        .max()
        .unwrap_or(from);
    let length = until.since(from).as_secs_f64().max(0.001);
    let at = |moment: Timestamp| LEFT + moment.since(from).as_secs_f64() / length * (WIDTH - LEFT - BAR_MIN);
    let names: Vec<&str> = view
        .deliveries
        .iter()
        .map(|delivery| delivery.destination.as_str())
        .collect();
    let height = ROW * names.len() as f64;
    let label = format!(
        "{} attempts at {} destinations within {} of arrival",
        attempts.len(),
        names.len(),
        readable::duration(until.since(from))
    );
    html! {
        svg class="chart timeline" viewBox={ "0 0 " (WIDTH) " " (height + 18.0) } role="img" aria-label=(label) {
            line class="axis" x1=(LEFT) x2=(WIDTH) y1=(height) y2=(height) {}
            @for (row, name) in names.iter().enumerate() {
                @let top = row as f64 * ROW;
                text x="0" y=(top + 16.0) { (name.chars().take(NAME_CHARACTERS_MAX).collect::<String>()) }
                @for attempt in attempts.iter().filter(|attempt| attempt.destination == *name) {
                    @let left = at(attempt.started_at);
                    @let width = (at(attempt.started_at.plus(took(attempt))) - left).max(BAR_MIN);
                    rect class=(if attempt.error.is_none() { "good" } else { "bad" }) x={ (format!("{left:.1}")) } y=(top + 5.0) width={ (format!("{width:.1}")) } height="14" {
                        title { (outcome(attempt)) ", " (attempt.duration_ms) " ms, " (attempt.started_at) }
                    }
                }
            }
            text x=(LEFT) y=(height + 14.0) { "received" }
            text x=(WIDTH) y=(height + 14.0) text-anchor="end" { "+" (readable::duration(until.since(from))) }
        }
    }
}

fn took(attempt: &AttemptView) -> Duration {
    Duration::from_millis(attempt.duration_ms.into())
}

fn outcome(attempt: &AttemptView) -> String {
    match (&attempt.error, attempt.status) {
        (None, Some(status)) => format!("done, {status}"),
        (None, None) => "done".to_owned(),
        (Some(error), Some(status)) => format!("{error}, {status}"),
        (Some(error), None) => error.clone(),
    }
}

fn deliveries(deliveries: &[DeliveryView], now: Timestamp) -> Markup {
    html! {
        div class="table" {
            table {
                thead {
                    tr {
                        th scope="col" { "Destination" } th scope="col" { "Status" } th scope="col" class="number" { "Attempts" }
                        th scope="col" { "When" } th scope="col" { "Error" } th scope="col" { "Idempotency key" }
                    }
                }
                tbody {
                    @for delivery in deliveries {
                        tr {
                            th scope="row" { (delivery.destination) }
                            td { (badge(tone(delivery.status), delivery.status.as_str())) }
                            td class="number" { (delivery.attempts) @if delivery.lost > 0 { " (" (delivery.lost) " lost)" } }
                            td { (when(delivery, now)) }
                            td { (delivery.error.as_deref().unwrap_or("–")) }
                            td class="wrap" { code { (delivery.idempotency_key) } @if delivery.generation > 0 { " generation " (delivery.generation) } }
                        }
                    }
                }
            }
        }
    }
}

const fn tone(status: DeliveryStatus) -> Tone {
    match status {
        DeliveryStatus::Completed => Tone::Good,
        DeliveryStatus::Pending | DeliveryStatus::Running => Tone::Busy,
        DeliveryStatus::Retrying => Tone::Warn,
        DeliveryStatus::Dead => Tone::Bad,
        DeliveryStatus::Held | DeliveryStatus::Discarded => Tone::Plain,
    }
}

fn when(delivery: &DeliveryView, now: Timestamp) -> Markup {
    match (delivery.finished_at, delivery.due_at, &delivery.lane) {
        (Some(at), _, _) => html! { "finished " (moment(at, now)) },
        (None, Some(at), _) => html! { "due " (moment(at, now)) },
        (None, None, Some(lane)) => html! { "behind others with key " code { (lane) } },
        (None, None, None) => html! { "–" },
    }
}

fn attempts_table(attempts: &[AttemptView]) -> Markup {
    html! {
        div class="table" {
            table {
                thead {
                    tr {
                        th scope="col" { "Started" } th scope="col" { "Destination" } th scope="col" class="number" { "Duration" }
                        th scope="col" { "Outcome" } th scope="col" { "Response" }
                    }
                }
                tbody {
                    @for attempt in attempts {
                        tr {
                            td { (attempt.started_at) }
                            td { (attempt.destination) }
                            td class="number" { (attempt.duration_ms) " ms" }
                            td { (badge(if attempt.error.is_none() { Tone::Good } else { Tone::Bad }, &outcome(attempt))) }
                            td class="wrap" {
                                @if let Some(message) = &attempt.message { p { (message) } }
                                @if !attempt.excerpt.is_empty() { code class="wrap" { (attempt.excerpt) } }
                            }
                        }
                    }
                }
            }
        }
    }
}
