//! The format of `/metrics`: OpenMetrics for clients that ask for it, and otherwise the text format that every scraper
//! reads.

use http::HeaderMap;
use http::header::ACCEPT;

const OPEN_METRICS: &str = "application/openmetrics-text";
const PLAIN: &str = "text/plain";
/// The OpenMetrics version that we write. A media range without a version accepts any.
const OPEN_METRICS_VERSION: &str = "1.0.0";
/// The most media ranges examined per request.
const RANGES_MAX: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// OpenMetrics 1.0.0, with exemplars and an end marker that distinguishes a complete response from a truncated one.
    OpenMetrics,
    /// The Prometheus text format, 0.0.4.
    Plain,
}

impl Format {
    /// The best format that a request accepts. OpenMetrics must be named explicitly, because a client that accepts
    /// anything may understand only the older format.
    pub fn asked_by(headers: &HeaderMap) -> Self {
        let values = headers.get_all(ACCEPT).into_iter();
        let ranges = values
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .take(RANGES_MAX);
        let (mut open_metrics, mut plain) = (0, 0);
        for range in ranges.map(Range::read) {
            match range.kind {
                OPEN_METRICS
                    if range
                        .version
                        .is_none_or(|version| version == OPEN_METRICS_VERSION) =>
                {
                    open_metrics = open_metrics.max(range.thousandths);
                }
                PLAIN => plain = plain.max(range.thousandths),
                _ => {}
            }
        }
        if open_metrics > 0 && open_metrics >= plain {
            Self::OpenMetrics
        } else {
            Self::Plain
        }
    }

    /// For `Content-Type`.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Plain => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

/// One media range of an `Accept` header.
struct Range<'a> {
    kind: &'a str,
    version: Option<&'a str>,
    /// The weight; 0 if it cannot be parsed.
    thousandths: u32,
}

impl<'a> Range<'a> {
    fn read(text: &'a str) -> Self {
        let mut parts = text.split(';').map(str::trim);
        let mut range = Self {
            kind: parts.next().unwrap_or_default(),
            version: None,
            thousandths: 1_000,
        };
        for (name, value) in parts.filter_map(|part| part.split_once('=')) {
            match name.trim() {
                "version" => range.version = Some(value.trim().trim_matches('"')),
                "q" => range.thousandths = weight(value.trim()),
                _ => {}
            }
        }
        range
    }
}

fn weight(text: &str) -> u32 {
    let weight: f64 = text.parse().unwrap_or_default();
    (weight.clamp(0.0, 1.0) * 1_000.0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(accept: &str) -> Format {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, accept.parse().unwrap());
        Format::asked_by(&headers)
    }

    #[test]
    fn open_metrics_is_for_those_who_ask_for_it() {
        for accept in [
            "application/openmetrics-text",
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
            // Prometheus 2 and 3.
            "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
             text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
            "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,\
             application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,\
             text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
            "text/plain;q=0.5, application/openmetrics-text;q=0.5",
        ] {
            assert_eq!(asked(accept), Format::OpenMetrics, "{accept}");
        }
    }

    #[test]
    fn everybody_else_gets_what_every_scraper_reads() {
        for accept in [
            "*/*",
            "text/html, */*;q=0.1",
            "text/plain; version=0.0.4",
            "text/plain, application/openmetrics-text;q=0.9",
            "application/openmetrics-text;version=0.0.1",
            "application/openmetrics-text;q=0",
            "application/openmetrics-text;q=NaN",
            ";;;,,q=1",
        ] {
            assert_eq!(asked(accept), Format::Plain, "{accept}");
        }
        assert_eq!(Format::asked_by(&HeaderMap::new()), Format::Plain);
    }
}
