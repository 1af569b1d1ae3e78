//! How long each page takes, requested as a browser does, with a session, one after the other.

use std::time::{Duration, Instant};

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

use crate::service::Site;
use hapax_terminal::output;
use hapax_terminal::progress::Progress;

use super::browser::Browser;
use super::fill::Landmarks;

/// Number of times to request each page, after a first request that is reported separately.
const TIMES: usize = 20;

#[derive(Debug, Serialize)]
pub(crate) struct Page {
    path: String,
    /// Size of its body.
    bytes: usize,
    /// The first request, on a service that has not served the page before.
    first_ms: f64,
    /// The median of the others.
    p50_ms: f64,
    /// The slowest of the others.
    max_ms: f64,
}

impl Page {
    pub(in crate::bench) fn path(&self) -> &str {
        &self.path
    }

    /// The slowest request, the first included.
    pub(in crate::bench) const fn worst_ms(&self) -> f64 {
        self.first_ms.max(self.max_ms)
    }
}

/// Requests every page.
pub(in crate::bench) async fn measure(site: &Site, landmarks: &Landmarks) -> anyhow::Result<Vec<Page>> {
    let mut browser = Browser::sign_in(site).await?;
    let paths = paths(landmarks);
    let progress = Progress::new(paths.len() as u64);
    progress.say("asking for every page");
    let mut pages = Vec::new();
    for path in paths {
        pages.push(page(&mut browser, path).await?);
        progress.step();
    }
    progress.end();
    Ok(pages)
}

/// Prints the table, and the pages that were too slow, the first request included.
pub(super) fn print(pages: &[Page], limit_ms: f64) -> std::io::Result<()> {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(["page", "KiB", "first ms", "p50 ms", "slowest ms"]);
    for page in pages {
        table.add_row([
            page.path.clone(),
            (page.bytes / 1024).to_string(),
            format!("{:.1}", page.first_ms),
            format!("{:.1}", page.p50_ms),
            format!("{:.1}", page.max_ms),
        ]);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    output::line(table)?;
    let slow: Vec<&str> = pages
        .iter()
        .filter(|page| page.worst_ms() >= limit_ms)
        .map(|page| page.path.as_str())
        .collect();
    if slow.is_empty() {
        return output::line(format_args!("every page took less than {limit_ms} ms"));
    }
    output::line(format_args!("over {limit_ms} ms: {}", slow.join(", ")))
}

fn paths(landmarks: &Landmarks) -> Vec<String> {
    let fixed = [
        "/",
        "/?range=24h",
        "/?range=7d",
        "/events",
        "/dead",
        "/replays",
        "/sources",
        "/outbox",
        "/destinations",
        "/audit",
        "/api",
    ];
    let queries = [
        "source:stripe".to_owned(),
        "source:acme".to_owned(),
        "type:invoice.paid".to_owned(),
        "type:invoice.voided".to_owned(),
        "type:inv*".to_owned(),
        "status:dead".to_owned(),
        "status:pending".to_owned(),
        "status:completed".to_owned(),
        "status:ignored".to_owned(),
        "status:failed".to_owned(),
        "duplicates:>0".to_owned(),
        "duplicates:>=7".to_owned(),
        "has:conflict".to_owned(),
        "to:billing".to_owned(),
        "to:billing error:timeout".to_owned(),
        "since:1h".to_owned(),
        "until:1h".to_owned(),
        format!("id:{}", landmarks.event_id),
        format!("body:/data/object/id={}", landmarks.order),
        "body:/data/object/id=ord_0".to_owned(),
        "source:github type:push status:completed duplicates:>0".to_owned(),
    ];
    let ids = [landmarks.delivered, landmarks.dead, landmarks.conflicting];
    fixed
        .into_iter()
        .map(str::to_owned)
        .chain(
            queries
                .iter()
                .map(|query| format!("/events?q={}", encoded(query))),
        )
        .chain(ids.into_iter().flatten().map(|id| format!("/events/{id}")))
        .chain(
            [
                "/api/v1/events",
                "/api/v1/stats",
                "/api/v1/stats?range=7d",
                "/api/v1/deliveries/groups",
                "/metrics",
            ]
            .map(str::to_owned),
        )
        .collect()
}

/// As a browser sends the search form.
fn encoded(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

async fn page(browser: &mut Browser<'_>, path: String) -> anyhow::Result<Page> {
    let (first, bytes) = timed(browser, &path).await?;
    let mut times = Vec::with_capacity(TIMES);
    for _ in 0..TIMES {
        times.push(timed(browser, &path).await?.0);
    }
    times.sort_unstable();
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    Ok(Page {
        path,
        bytes,
        first_ms: ms(first),
        p50_ms: ms(times[TIMES / 2]),
        max_ms: ms(times[TIMES - 1]),
    })
}

async fn timed(browser: &mut Browser<'_>, path: &str) -> anyhow::Result<(Duration, usize)> {
    let started = Instant::now();
    let bytes = browser.ask(path).await?;
    Ok((started.elapsed(), bytes))
}
