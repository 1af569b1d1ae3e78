//! Log output: to stderr, as text on a terminal and as JSON elsewhere.
//!
//! `HAPAX_LOG` is the level or a filter (`info`, `info,hapax_ingest=debug`); `HAPAX_LOG_FORMAT` is `text` or `json`.

use std::io::IsTerminal as _;

use hapax_config::Environment;
use tracing::{Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer};

/// The default filter of a service.
pub const SERVE_FILTER: &str = "info";
/// The default filter of `hapax dev`, which displays events itself.
pub const DEV_FILTER: &str = "warn";

/// An environment variable that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LoggingError {
    /// The filter is invalid.
    #[error("HAPAX_LOG is \"{text}\", which is not a filter: write a level such as `info` or `debug`")]
    Filter {
        text: String,
        source: tracing_subscriber::filter::ParseError,
    },
    /// The format is invalid.
    #[error("HAPAX_LOG_FORMAT is \"{text}\": write `text` or `json`")]
    Format { text: String },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Text,
    Json,
}

/// Suppresses lines from libraries that quote the data they process, whatever the filter says.
struct Discreet;

/// From `debug` on, these log the parameters of every statement, which include bodies and headers.
const INDISCREET: [&str; 1] = ["tokio_postgres"];

impl<S: Subscriber> Layer<S> for Discreet {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        let is_detail = *metadata.level() > Level::INFO;
        !(is_detail && INDISCREET.iter().any(|name| metadata.target().starts_with(name)))
    }
}

/// Starts logging for the whole process, with `default_filter` unless `HAPAX_LOG` is set. A second call has no effect.
pub fn start(environment: &Environment, default_filter: &str) -> Result<(), LoggingError> {
    let variable = |name| environment.text(name).filter(|text| !text.is_empty());
    let filter = filter(variable("HAPAX_LOG").unwrap_or(default_filter))?;
    let format = format(variable("HAPAX_LOG_FORMAT"), std::io::stderr().is_terminal())?;
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    // An error means that logging was already started by an earlier call.
    let _ = match format {
        Format::Json => tracing_subscriber::registry()
            .with(filter)
            .with(Discreet)
            .with(lines.json().flatten_event(true).with_current_span(false))
            .try_init(),
        Format::Text => {
            let colored = std::io::stderr().is_terminal() && variable("NO_COLOR").is_none();
            tracing_subscriber::registry()
                .with(filter)
                .with(Discreet)
                .with(lines.with_target(false).with_ansi(colored))
                .try_init()
        }
    };
    Ok(())
}

fn filter(text: &str) -> Result<EnvFilter, LoggingError> {
    EnvFilter::try_new(text).map_err(|source| LoggingError::Filter {
        text: text.to_owned(),
        source,
    })
}

fn format(text: Option<&str>, is_terminal: bool) -> Result<Format, LoggingError> {
    match text {
        Some("json") => Ok(Format::Json),
        Some("text") => Ok(Format::Text),
        Some(text) => Err(LoggingError::Format {
            text: text.to_owned(),
        }),
        None if is_terminal => Ok(Format::Text),
        None => Ok(Format::Json),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_that_is_none_is_refused_and_the_terminal_decides_otherwise() {
        assert_eq!(format(None, true).unwrap(), Format::Text);
        assert_eq!(format(None, false).unwrap(), Format::Json);
        assert_eq!(format(Some("json"), true).unwrap(), Format::Json);
        assert!(
            format(Some("yaml"), true)
                .unwrap_err()
                .to_string()
                .contains("`text` or `json`")
        );
    }

    #[test]
    fn a_filter_that_is_none_is_refused() {
        assert!(filter("info,hapax_ingest=debug").is_ok());
        assert!(
            filter("hapax=loudly")
                .unwrap_err()
                .to_string()
                .contains("HAPAX_LOG")
        );
    }
}
