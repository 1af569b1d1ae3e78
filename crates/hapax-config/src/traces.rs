//! `[traces]`: where spans are exported, as OTLP over HTTP. Without an endpoint there are no spans.
//!
//! Settings that the file omits are taken from OpenTelemetry's standard environment variables.

mod pairs;

use std::time::Duration;

use hapax_core::Secret;
use http::{HeaderName, HeaderValue, Uri};

use super::environment::NoVariable;
use super::http_url::http_url;
use super::problem::ConfigLocation;
use super::report::Report;
use super::section::Section;
use super::setting::{AnyKey as _, Key, Setting as _, Share, Table};

static ENDPOINT: Key<String> = Key::optional(
    "endpoint",
    "The collector, such as `http://127.0.0.1:4318`; `/v1/traces` is added.",
)
.named("URL");

static HEADERS: Key<toml::Table> = Key::with_default(
    "headers",
    "{}",
    "Headers of every export, such as `{ authorization = \"env:OTLP_AUTHORIZATION\" }`; at most 16.",
)
.named("table of secrets");

static SAMPLE: Key<Share> = Key::with_default(
    "sample",
    "1.0",
    "The share of traces to keep. If the provider has decided (the sampled flag of its `traceparent`), its decision applies.",
);

static SERVICE_NAME: Key<String> = Key::with_default(
    "service_name",
    "hapax",
    "What this service is called in the traces.",
);

static TIMEOUT: Key<Duration> = Key::with_default(
    "timeout",
    "5s",
    "How long one export may take before it is given up.",
)
.within("100ms", "1m");

pub(super) static TRACES: Table = Table {
    header: "[traces]",
    help: "OpenTelemetry traces, sent as OTLP over HTTP (protobuf). Off unless `endpoint` or a variable says where to. \
           What the file leaves out is taken from `OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`, \
           `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_EXPORTER_OTLP_TRACES_HEADERS`, `OTEL_SERVICE_NAME`, \
           `OTEL_RESOURCE_ATTRIBUTES` and `OTEL_TRACES_SAMPLER_ARG`; `OTEL_SDK_DISABLED=true` switches traces off. \
           A change needs a restart.",
    keys: &[&ENDPOINT, &HEADERS, &SAMPLE, &SERVICE_NAME, &TIMEOUT],
};

const HEADERS_MAX: usize = 16;
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
pub(super) fn read(section: &mut Section<'_, '_, '_>) -> Option<Traces> {
    let endpoint = endpoint(section);
    let headers = headers(section);
    let sample = sample(section);
    let timeout = section.get(&TIMEOUT);
    let mut resource = variable(section.report, "OTEL_RESOURCE_ATTRIBUTES")
        .map(|text| pairs::read(&text))
        .unwrap_or_default();
    let named = resource.iter().position(|(name, _)| name == "service.name");
    let named = named.map(|index| resource.remove(index).1);
    let other = variable(section.report, "OTEL_SERVICE_NAME").or(named);
    let service_name = section.get_or(&SERVICE_NAME, || {
        other.unwrap_or_else(|| SERVICE_NAME.default_value())
    });
    let disabled = variable(section.report, "OTEL_SDK_DISABLED");
    let is_on = disabled.is_none_or(|text| !text.eq_ignore_ascii_case("true"));
    let Some(endpoint) = endpoint.filter(|_| is_on) else {
        section.hide_all();
        return None;
    };
    Some(Traces {
        endpoint,
        headers,
        sample,
        service_name,
        resource,
        timeout,
    })
}

fn endpoint(section: &mut Section<'_, '_, '_>) -> Option<Uri> {
    if section.has(&ENDPOINT) {
        let endpoint = section.parsed(&ENDPOINT, |text| url(&with_path(text)))?;
        section.show(&ENDPOINT, endpoint.to_string());
        return Some(endpoint);
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
            let path = section.path(&ENDPOINT);
            section.report.locate(&path, place);
            section.show(&ENDPOINT, endpoint.to_string());
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
        return Err("a collector has no query in its URL; put a token into `headers`".to_owned());
    }
    http_url(text).map_err(|why| why.replace("http://127.0.0.1:3000/webhooks", "http://127.0.0.1:4318"))
}

fn headers(section: &mut Section<'_, '_, '_>) -> Vec<(HeaderName, Secret)> {
    let mut found = section.secrets_by_name(&HEADERS);
    if !section.has(&HEADERS) {
        let names = ["OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"];
        let text = names.into_iter().find_map(|name| variable(section.report, name));
        let pairs = text.map(|text| pairs::read(&text)).unwrap_or_default();
        found = pairs
            .into_iter()
            .map(|(name, value)| (name, Secret::new(value)))
            .collect();
    }
    if found.len() > HEADERS_MAX {
        section.problem(&HEADERS, format_args!("at most {HEADERS_MAX} headers are sent"));
    }
    let mut headers = Vec::new();
    for (name, secret) in found {
        match HeaderName::try_from(&name) {
            Ok(header) if HeaderValue::from_str(secret.expose()).is_ok() => headers.push((header, secret)),
            Ok(_) | Err(_) => section.problem(
                &HEADERS,
                format_args!(
                    "`{}` is not a valid HTTP header name, or its value is not a valid header value",
                    name.escape_default()
                ),
            ),
        }
    }
    let path = section.path(&HEADERS);
    let hidden = |name: &HeaderName| section.report.origins.hidden(&format!("{path}.{name}"));
    let shown = headers.iter().map(|(name, _)| (name.to_string(), hidden(name)));
    let shown: toml::Table = shown.collect();
    section.show(&HEADERS, shown);
    headers
}

fn sample(section: &mut Section<'_, '_, '_>) -> f64 {
    let name = "OTEL_TRACES_SAMPLER_ARG";
    let text = if section.has(&SAMPLE) {
        None
    } else {
        variable(section.report, name)
    };
    let read = text.map(|text| Share::from_text(&text, SAMPLE.facts()));
    let other = read.and_then(|share| {
        let refused = |why| {
            let place = ConfigLocation::Variable(name.to_owned());
            section.report.problem_at(place, why);
        };
        share.map_err(refused).ok()
    });
    section
        .get_or(&SAMPLE, || other.unwrap_or_else(|| SAMPLE.default_value()))
        .0
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
