//! Percentiles of a duration, in one line.

use hapax_api::views::PercentilesView;

/// Such as `1.2 / 8.0 / 31 ms`: p50, p95 and p99.
pub(super) fn percentiles(view: PercentilesView) -> String {
    let each = [view.p50_ms, view.p95_ms, view.p99_ms].map(|millis| match millis {
        None => "–".to_owned(),
        Some(millis) if millis < 10.0 => format!("{millis:.1}"),
        Some(millis) => format!("{millis:.0}"),
    });
    format!("{} ms", each.join(" / "))
}
