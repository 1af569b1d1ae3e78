//! `[traces]`: where spans are exported, as OTLP over HTTP. Without an endpoint there are no spans.
//!
//! Settings that the file omits are taken from OpenTelemetry's standard environment variables.

mod pairs;

use std::ops::RangeInclusive;
use std::time::Duration;

use hapax_core::Secret;
use http::{HeaderName, HeaderValue, Uri};

use super::environment::NoVariable;
use super::http_url::http_url;
use super::problem::ConfigLocation;
use super::report::Report;
use super::section::Section;

const TIMEOUT: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(60);
const TIMEOUT_DEFAULT: Duration = Duration::from_secs(5);
const HEADERS_MAX: usize = 16;
const SERVICE_NAME: &str = "hapax";
/// The path that the protocol appends to a collector's address.
const PATH: &str = "/v1/traces";

/// Where spans are exported, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Traces {
    /// The URL to which spans are posted.
    pub endpoint: Uri,
    /// The headers of each request; their values are secrets.
    pub headers: Vec<(HeaderName, Secret)>,
    /// The fraction of traces to keep among those that arrive without a sampling decision.
    pub sample: f64,
    pub service_name: String,
    /// Further attributes of the service.
    pub resource: Vec<(String, String)>,
    /// How long one export may take.
    pub timeout: Duration,
}

/// Reads the section. `None` if no endpoint is set, or if traces are switched off.
pub(super) fn read(mut section: Section<'_, '_, '_>) -> Option<Traces> {
    let endpoint = endpoint(&mut section);
    let headers = headers(&mut section);
    let sample = sample(&mut section);
    let service_name = section.text("service_name");
    let timeout = section.duration("timeout", TIMEOUT_DEFAULT, &TIMEOUT);
    let mut resource = variable(section.report, "OTEL_RESOURCE_ATTRIBUTES")
        .map(|text| pairs::read(&text))
        .unwrap_or_default();
    let named = resource.iter().position(|(name, _)| name == "service.name");
    let named = named.map(|index| resource.remove(index).1);
    let service_name = service_name
        .or_else(|| variable(section.report, "OTEL_SERVICE_NAME"))
        .or(named);
    if variable(section.report, "OTEL_SDK_DISABLED").is_some_and(|text| text.eq_ignore_ascii_case("true")) {
        return None;
    }
    Some(Traces {
        endpoint: endpoint?,
        headers,
        sample,
        service_name: service_name.unwrap_or_else(|| SERVICE_NAME.to_owned()),
        resource,
        timeout,
    })
}

fn endpoint(section: &mut Section<'_, '_, '_>) -> Option<Uri> {
    if let Some(text) = section.text("endpoint") {
        return match url(&with_path(&text)) {
            Ok(endpoint) => Some(endpoint),
            Err(why) => {
                section.problem("endpoint", why);
                None
            }
        };
    }
    let whole = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
    let base = "OTEL_EXPORTER_OTLP_ENDPOINT";
    let (name, text) = match variable(section.report, whole) {
        Some(text) => (whole, text),
        None => (base, with_path(&variable(section.report, base)?)),
    };
    let place = ConfigLocation::Variable(name.to_owned());
    match url(&text) {
        Ok(endpoint) => {
            section.report.locate("traces.endpoint", place);
            Some(endpoint)
        }
        Err(why) => {
            section.report.problem_at(place, why);
            None
        }
    }
}

/// Adds the path, so that a collector's address is enough.
fn with_path(text: &str) -> String {
    let text = text.trim_end_matches('/');
    if text.ends_with(PATH) {
        text.to_owned()
    } else {
        format!("{text}{PATH}")
    }
}

fn url(text: &str) -> Result<Uri, String> {
    if text.contains('?') {
        return Err("a collector has no query in its URL; a token belongs into `headers`".to_owned());
    }
    http_url(text).map_err(|why| why.replace("http://127.0.0.1:3000/webhooks", "http://127.0.0.1:4318"))
}

fn headers(section: &mut Section<'_, '_, '_>) -> Vec<(HeaderName, Secret)> {
    let mut found = section.secrets_by_name("headers");
    if !section.has("headers") {
        let names = ["OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"];
        let text = names.into_iter().find_map(|name| variable(section.report, name));
        let pairs = text.map(|text| pairs::read(&text)).unwrap_or_default();
        found = pairs
            .into_iter()
            .map(|(name, value)| (name, Secret::new(value)))
            .collect();
    }
    if found.len() > HEADERS_MAX {
        section.problem("headers", format_args!("at most {HEADERS_MAX} headers are sent"));
    }
    let mut headers = Vec::new();
    for (name, secret) in found {
        match HeaderName::try_from(&name) {
            Ok(header) if HeaderValue::from_str(secret.expose()).is_ok() => headers.push((header, secret)),
            Ok(_) | Err(_) => section.problem(
                "headers",
                format_args!(
                    "`{}` cannot be sent: its name or its value is none that HTTP has",
                    name.escape_default()
                ),
            ),
        }
    }
    headers
}

fn sample(section: &mut Section<'_, '_, '_>) -> f64 {
    if let Some(share) = section.share("sample") {
        return share;
    }
    let name = "OTEL_TRACES_SAMPLER_ARG";
    let Some(text) = variable(section.report, name) else {
        return 1.0;
    };
    match text.parse::<f64>() {
        Ok(share) if (0.0..=1.0).contains(&share) => share,
        Ok(_) | Err(_) => {
            let place = ConfigLocation::Variable(name.to_owned());
            section.report.problem_at(
                place,
                "expected a number from 0 to 1, such as 0.1 for a tenth of all traces",
            );
            1.0
        }
    }
}

/// The value of a variable. An empty one counts as not set, as in every OpenTelemetry SDK.
fn variable(report: &mut Report<'_>, name: &str) -> Option<String> {
    match report.environment().get(name) {
        Ok(text) => (!text.is_empty()).then(|| text.to_owned()),
        Err(NoVariable::NotSet) => None,
        Err(NoVariable::NotUtf8) => {
            report.problem_at(
                ConfigLocation::Variable(name.to_owned()),
                "the value is not UTF-8",
            );
            None
        }
    }
}
