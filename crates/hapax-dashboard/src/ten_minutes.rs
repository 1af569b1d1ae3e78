//! The last ten minutes of the process that answers, on the overview and for each source and destination.

use std::time::Duration;

use maud::{Markup, html};

use super::percentiles::percentiles;
use hapax_api::readable;
use hapax_api::views::{DestinationTenMinutesView, SourceTenMinutesView, TenMinutesView};
use hapax_telemetry::WINDOW;

/// For the overview: a table of sources and a table of destinations.
pub(super) fn section(recent: &TenMinutesView) -> Markup {
    html! {
        section aria-labelledby="ten-minutes" {
            h2 id="ten-minutes" { "Last ten minutes" }
            p class="muted small" { (whose(recent)) " Durable writes took " (percentiles(recent.store_write)) " (p50 / p95 / p99)." }
            (sources(&recent.sources))
            (destinations(&recent.destinations))
        }
    }
}

/// For the card of a source.
pub(super) fn of_source(recent: &TenMinutesView, name: &str) -> Markup {
    let Some(source) = recent.sources.iter().find(|one| one.source == name) else {
        return html! {};
    };
    html! {
        p {
            b { "Last ten minutes, in this process: " }
            (readable::count(source.events)) " events, " (share(source.dedupe_ratio)) " duplicates (p95 "
            (share(Some(source.dedupe_ratio_p95))) "), " (readable::count(source.unproven)) " unproven; ack "
            (percentiles(source.ack)) " (p50 / p95 / p99)"
        }
    }
}

/// For the list of a destination.
pub(super) fn of_destination(recent: &TenMinutesView, id: &str) -> Markup {
    let Some(place) = recent.destinations.iter().find(|one| one.destination_id == id) else {
        return html! {};
    };
    html! {
        dt { "Last ten minutes" }
        dd {
            (readable::count(place.completed)) " completed, " (readable::count(place.failed)) " failed, "
            (readable::count(place.dead)) " dead in this process; took " (percentiles(place.took)) " (p50 / p95 / p99)"
        }
    }
}

/// The process the figures are from, and how long it has been running.
fn whose(recent: &TenMinutesView) -> String {
    if recent.watched_seconds < WINDOW.as_secs() {
        let watched = readable::duration(Duration::from_secs(recent.watched_seconds));
        format!("Figures of the process that answers, which started {watched} ago.")
    } else {
        "Figures of the process that answers; other replicas have their own.".to_owned()
    }
}

fn sources(sources: &[SourceTenMinutesView]) -> Markup {
    html! {
        div class="table" {
            table {
                thead {
                    tr {
                        th scope="col" { "Source" }
                        th scope="col" class="number" { "Events" } th scope="col" class="number" { "Duplicates" }
                        th scope="col" class="number" { "Duplicates, p95" } th scope="col" class="number" { "Unproven" }
                        th scope="col" class="number" { "Ack p50 / p95 / p99" }
                    }
                }
                tbody {
                    @for source in sources {
                        tr {
                            th scope="row" { (source.source) }
                            td class="number" { (readable::count(source.events)) }
                            td class="number" { (share(source.dedupe_ratio)) }
                            td class="number" { (share(Some(source.dedupe_ratio_p95))) }
                            td class="number" { (readable::count(source.unproven)) }
                            td class="number" { (percentiles(source.ack)) }
                        }
                    }
                }
            }
        }
    }
}

fn destinations(destinations: &[DestinationTenMinutesView]) -> Markup {
    html! {
        div class="table" {
            table {
                thead {
                    tr {
                        th scope="col" { "Destination" }
                        th scope="col" class="number" { "Completed" } th scope="col" class="number" { "Failed" }
                        th scope="col" class="number" { "Dead" }
                        th scope="col" class="number" { "Duration p50 / p95 / p99" }
                    }
                }
                tbody {
                    @for place in destinations {
                        tr {
                            th scope="row" { (place.destination) }
                            td class="number" { (readable::count(place.completed)) }
                            td class="number" { (readable::count(place.failed)) }
                            td class="number" { (readable::count(place.dead)) }
                            td class="number" { (percentiles(place.took)) }
                        }
                    }
                }
            }
        }
    }
}

fn share(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "–".to_owned(), |ratio| format!("{:.1}%", ratio * 100.0))
}
