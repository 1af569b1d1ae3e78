//! `GET /duplicates`: which sources send duplicates, how late, and whether their ids are reliable.

use std::time::Duration;

use axum::response::Response;
use hapax_core::Timestamp;
use hapax_core::store::TimeRange;
use maud::{Markup, html};

use super::chart::{self, Layer};
use super::frame::{self, Here};
use super::moment::moment;
use super::prose::prose;
use super::status::{Tone, badge};
use super::viewer::Viewer;
use super::{link, ranges};
use hapax_admin::admission::Narrowed;
use hapax_admin::api_error::ApiResult;
use hapax_admin::duplicates;
use hapax_admin::extract::QueryParams;
use hapax_api::readable;
use hapax_api::views::{
    FindingKind, GapClassView, RedeliveredView, SourceDuplicatesView, WindowAdvice, WindowView,
};

const KINDS: [&str; 2] = ["accepted", "duplicates"];

pub(super) async fn page(
    Narrowed(state): Narrowed,
    viewer: Viewer,
    QueryParams(asked): QueryParams<ranges::Parameters>,
) -> ApiResult<Response> {
    let span = asked.range.unwrap_or(TimeRange::Week);
    let view = duplicates::over(&state, span, None).await?;
    let now = state.now();
    let content = html! {
        p { "How often each provider sends duplicates, how late they arrive, and whether its ids can be trusted. "
            a href="/sources" { "All sources" } }
        (ranges::tabs("/duplicates", span))
        (chart::legend(&KINDS))
        @if view.sources.is_empty() {
            p class="card empty" { "No source is configured, so there are no duplicates." }
        }
        div class="stack" {
            @for source in &view.sources {
                section class="card stack" id={ "source-" (source.source) } { (card(source, span, now)) }
            }
        }
        p class="muted small" { (view.note) " The figures of individual ids are exact." }
    };
    Ok(frame::page(&viewer, Here::Sources, "Duplicates", content))
}

fn card(source: &SourceDuplicatesView, span: TimeRange, now: Timestamp) -> Markup {
    let share = source
        .dedupe_ratio
        .map_or_else(|| "–".to_owned(), |ratio| format!("{:.1}%", ratio * 100.0));
    let label = format!("New events and duplicates of {} over time", source.source);
    html! {
        h2 { a href=(link::search(&format!("source:{}", source.source))) { (source.source) } }
        p {
            b { (share) " duplicates: " }
            (readable::count(source.duplicates)) " of " (readable::count(source.received)) " received, "
            (readable::count(source.accepted)) " new, " (readable::count(source.conflicts)) " conflicts"
        }
        (chart::bars(&label, span.as_str(), &[
            Layer { name: "accepted", counts: &source.accepted_series },
            Layer { name: "duplicates", counts: &source.duplicates_series },
        ]))
        (window(&source.window))
        @for finding in source.findings.iter().filter(|finding| finding.kind != FindingKind::Window) {
            p { (badge(Tone::Warn, words(finding.kind))) " " (prose(&finding.sentence)) }
        }
        @if source.duplicates > 0 {
            (gaps(source))
            (redelivered(&source.redelivered, now))
        }
    }
}

fn window(window: &WindowView) -> Markup {
    let (tone, word) = match window.advice {
        WindowAdvice::Fine | WindowAdvice::MayLower => (Tone::Good, "window"),
        WindowAdvice::Raise => (Tone::Bad, "window too short"),
        WindowAdvice::Unknown => (Tone::Plain, "window"),
    };
    html! { p { (badge(tone, word)) " " (prose(&window.sentence)) } }
}

const fn words(kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::Window => "window",
        FindingKind::UnstableIds => "ids not stable",
        FindingKind::ReusedIds => "ids reused",
    }
}

fn gaps(source: &SourceDuplicatesView) -> Markup {
    let most = source
        .gaps
        .iter()
        .map(|class| class.duplicates)
        .max()
        .unwrap_or(0);
    html! {
        div class="table" tabindex="0" role="region" aria-label={ "Gaps of " (source.source) } {
            table {
                caption { "Duplicates by delay after the first" }
                thead { tr { th scope="col" { "Gap" } th scope="col" class="number" { "Duplicates" } th scope="col" { "Share" } } }
                tbody { @for class in &source.gaps { (gap_row(class, most)) } }
            }
        }
    }
}

fn gap_row(class: &GapClassView, most: u64) -> Markup {
    html! {
        tr {
            th scope="row" { (class.label) }
            td class="number" { (readable::count(class.duplicates)) }
            td { meter min="0" max=(most.max(1)) value=(class.duplicates) aria-label={ "Duplicates " (class.label) } { (class.duplicates) } }
        }
    }
}

fn redelivered(ids: &[RedeliveredView], now: Timestamp) -> Markup {
    html! {
        div class="table" tabindex="0" role="region" aria-label="Ids with the most duplicates" {
            table {
                caption { "Ids with the most duplicates" }
                thead { tr {
                    th scope="col" { "Event id" } th scope="col" class="number" { "Duplicates" } th scope="col" { "First" }
                    th scope="col" { "Last" } th scope="col" { "Largest gap" }
                } }
                tbody { @for one in ids { (id_row(one, now)) } }
            }
        }
    }
}

fn id_row(one: &RedeliveredView, now: Timestamp) -> Markup {
    let gap = one.gap_ms_max.map_or_else(
        || "–".to_owned(),
        |gap| readable::duration(Duration::from_millis(gap)),
    );
    html! {
        tr {
            td {
                @match one.id {
                    Some(id) => { a href=(link::event(id)) { code { (one.event_id) } } }
                    None => { code { (one.event_id) } " " span class="muted" { "forgotten by now" } }
                }
            }
            td class="number" {
                @match one.duplicates {
                    Some(duplicates) => { (readable::count(duplicates)) }
                    None => { "up to " (readable::count(one.duplicates_at_most)) }
                }
            }
            td { @match one.first_at { Some(at) => { (moment(at, now)) } None => { "–" } } }
            td { @match one.last_at { Some(at) => { (moment(at, now)) } None => { "–" } } }
            td { (gap) }
        }
    }
}
