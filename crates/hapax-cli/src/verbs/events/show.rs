//! `hapax events show`: one event in full.

use std::fmt::Write as _;
use std::time::Duration;

use crate::exit::CliError;
use crate::globals::Globals;
use hapax_api::readable;
use hapax_api::views::{DeliveryView, DuplicatesView, EventView};
use hapax_terminal::output;
use hapax_terminal::table::{Reader, Table, printable};

/// Longest response excerpt that a table shows.
const EXCERPT_CHARACTERS_MAX: usize = 80;

pub(super) fn print(view: &EventView, globals: &Globals) -> Result<(), CliError> {
    if globals.json {
        output::json(view)?;
    } else {
        output::line(text(view, Reader::of_stdout()))?;
    }
    Ok(())
}

fn text(view: &EventView, reader: Reader) -> String {
    let moments = reader.moments();
    let mut out = String::new();
    // Writing to a String cannot fail.
    let mut field = |name: &str, value: String| {
        let _ = writeln!(out, "{name:<12}{}", printable(&value));
    };
    field("id", view.id.to_string());
    field("status", view.status.to_string());
    field("source", view.source.to_string());
    field("event id", view.event_id.clone());
    field("type", view.event_type.clone().unwrap_or_else(|| "-".to_owned()));
    field("received", moments.show(view.received_at));
    if let Some(signed_at) = view.signed_at {
        field("signed", moments.show(signed_at));
    }
    if let Some(index) = view.secret_index {
        field("secret", format!("number {} of the source", index + 1));
    }
    let size = if view.is_erased {
        "erased".to_owned()
    } else {
        readable::size(view.body_bytes)
    };
    field("body", format!("{size}, sha256 {}", view.body_sha256));
    if let Some(batch) = view.batch {
        field("batch", format!("item {} of request {}", batch.index, batch.id));
    }
    match &view.duplicates {
        Some(duplicates) => field("duplicates", self::duplicates(duplicates, reader)),
        None => field("duplicates", "0".to_owned()),
    }
    if let Some(identity) = &view.identity {
        field("identity", identity.sentence.clone());
    }
    if let Some(verification) = &view.verification {
        field("proof", verification.sentence.clone());
    }
    if let Some(earlier) = view.same_body_as {
        field(
            "warning",
            format!("the same body arrived earlier under another id, as event {earlier}"),
        );
    }
    for (title, table) in [
        ("deliveries", deliveries(view, reader)),
        ("attempts", attempts(view, reader)),
        ("conflicts", conflicts(view, reader)),
        ("headers", headers(view, reader)),
    ] {
        if let Some(table) = table {
            let _ = write!(out, "\n{title}\n{table}\n");
        }
    }
    out.truncate(out.trim_end().len());
    out
}

/// The number of duplicates, when the last one arrived, and how long after the first event each recent one did.
fn duplicates(duplicates: &DuplicatesView, reader: Reader) -> String {
    let gaps = duplicates
        .gaps_ms
        .iter()
        .map(|gap| readable::duration(Duration::from_millis(*gap)));
    let gaps: Vec<String> = gaps.collect();
    let last = reader.moments().show(duplicates.last_at);
    match gaps.as_slice() {
        [] => format!("{}, the last {last}", duplicates.count),
        gaps => format!("{}, the last {last}; after {}", duplicates.count, gaps.join(", ")),
    }
}

fn deliveries(view: &EventView, reader: Reader) -> Option<String> {
    let mut table = Table::new([
        "destination",
        "status",
        "attempts",
        "lost",
        "when",
        "error",
        "idempotency key",
    ]);
    for delivery in &view.deliveries {
        table.row([
            delivery.destination.clone(),
            delivery.status.to_string(),
            delivery.attempts.to_string(),
            delivery.lost.to_string(),
            when(delivery, reader),
            delivery.error.clone().unwrap_or_else(|| "-".to_owned()),
            delivery.idempotency_key.clone(),
        ]);
    }
    (!view.deliveries.is_empty()).then(|| table.render(reader))
}

fn when(delivery: &DeliveryView, reader: Reader) -> String {
    match (delivery.finished_at, delivery.due_at, &delivery.lane) {
        (Some(at), _, _) => reader.moments().show(at),
        (None, Some(due), _) => format!("due {}", reader.moments().show(due)),
        (None, None, Some(lane)) => format!("behind others with key {lane}"),
        (None, None, None) => "-".to_owned(),
    }
}

fn attempts(view: &EventView, reader: Reader) -> Option<String> {
    let mut table = Table::new([
        "destination",
        "started",
        "duration",
        "status",
        "error",
        "response",
    ]);
    for attempt in &view.attempts {
        let said = attempt.message.as_ref().unwrap_or(&attempt.excerpt);
        table.row([
            attempt.destination.clone(),
            reader.moments().show(attempt.started_at),
            format!("{} ms", attempt.duration_ms),
            attempt
                .status
                .map_or_else(|| "-".to_owned(), |status| status.to_string()),
            attempt.error.clone().unwrap_or_else(|| "-".to_owned()),
            said.chars().take(EXCERPT_CHARACTERS_MAX).collect(),
        ]);
    }
    (!view.attempts.is_empty()).then(|| table.render(reader))
}

fn conflicts(view: &EventView, reader: Reader) -> Option<String> {
    let mut table = Table::new(["body sha256", "seen", "first", "size", "released as"]);
    for conflict in &view.conflicts {
        table.row([
            conflict.body_sha256.clone(),
            conflict.seen.to_string(),
            reader.moments().show(conflict.received_at),
            readable::size(conflict.body_bytes),
            conflict
                .released_as
                .map_or_else(|| "-".to_owned(), |id| id.to_string()),
        ]);
    }
    (!view.conflicts.is_empty()).then(|| table.render(reader))
}

fn headers(view: &EventView, reader: Reader) -> Option<String> {
    let mut table = Table::new(["name", "value"]);
    for header in &view.headers {
        table.row([header.name.clone(), header.value.clone()]);
    }
    (!view.headers.is_empty()).then(|| table.render(reader))
}

#[cfg(test)]
mod tests {
    use hapax_core::Timestamp;

    use super::*;
    use hapax_api::moment::Moments;

    #[test]
    fn an_event_is_shown_with_everything_that_happened_to_it() {
        let view: EventView = serde_json::from_value(serde_json::json!({
            "id": "01940000-0000-7000-8000-000000000001", "source": "stripe", "scope": "stripe", "event_id": "evt_1",
            "type": "invoice.paid", "status": "failed", "received_at": "2026-01-01T00:00:00Z",
            "signed_at": "2025-12-31T23:59:59Z", "secret_index": 0, "body_bytes": 17, "body_sha256": "ab",
            "headers": [{"name": "content-type", "value": "application/json"}], "batch": null,
            "deliveries": [{"event": "01940000-0000-7000-8000-000000000001", "destination": "billing",
                "destination_id": "billing", "status": "retrying", "generation": 0, "idempotency_key": "f78f",
                "attempts": 1, "lost": 0, "due_at": "2026-01-01T00:00:09Z", "finished_at": null, "error": null,
                "lane": null, "replay": null}],
            "attempts": [{"destination": "billing", "generation": 0, "started_at": "2026-01-01T00:00:01Z",
                "duration_ms": 12, "status": 500, "error": "status", "message": null, "excerpt": "oh\nno"}],
            "duplicates": {"count": 2, "last_at": "2026-01-01T00:00:02Z", "gaps_ms": [1, 2]},
            "conflicts": [{"body_sha256": "cd", "seen": 1, "received_at": "2026-01-01T00:00:02Z", "body_bytes": 3,
                "released_as": null}],
            "same_body_as": null,
        }))
        .unwrap();
        let moments = Moments::Relative(Timestamp::from_seconds(1_767_225_604));
        insta::assert_snapshot!(text(&view, Reader::Person { width: Some(110), moments }), @r"
        id          01940000-0000-7000-8000-000000000001
        status      failed
        source      stripe
        event id    evt_1
        type        invoice.paid
        received    4 s ago
        signed      5 s ago
        secret      number 1 of the source
        body        17 B, sha256 ab
        duplicates  2, the last 2 s ago; after 1 ms, 2 ms

        deliveries
        DESTINATION  STATUS    ATTEMPTS  LOST  WHEN        ERROR  IDEMPOTENCY KEY
        billing      retrying  1         0     due in 5 s  -      f78f

        attempts
        DESTINATION  STARTED  DURATION  STATUS  ERROR   RESPONSE
        billing      3 s ago  12 ms     500     status  oh\nno

        conflicts
        BODY SHA256  SEEN  FIRST    SIZE  RELEASED AS
        cd           1     2 s ago  3 B   -

        headers
        NAME          VALUE
        content-type  application/json
        ");
    }
}
