//! `hapax health`: whether a running service accepts webhooks, for containers without a shell or curl.

use std::time::Duration;

use crate::exit::CliError;
use crate::globals::Globals;
use crate::service;
use hapax_api::views::{Phase, ReadyView};
use hapax_terminal::output;

/// Longest wait for the answer. The service itself gives its store two seconds.
const ANSWER_LIMIT: Duration = Duration::from_secs(4);

/// Check whether a running service accepts webhooks.
///
/// Requests `/readyz` on the admin port. Exits with 0 if the service accepts webhooks and its store can write;
/// otherwise prints the reason and exits with 1.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax health
  hapax health --admin http://127.0.0.1:8081
  HEALTHCHECK CMD [\"hapax\", \"health\"]      in a Dockerfile")]
pub struct Args {}

pub async fn run(_: Args, globals: &Globals) -> Result<(), CliError> {
    let client = service::client(globals)?;
    let asked = client.probe::<ReadyView>("readyz");
    let view = match tokio::time::timeout(ANSWER_LIMIT, asked).await {
        Ok(answer) => answer?,
        Err(_) => return Err(late()),
    };
    if globals.json {
        output::json(&view)?;
    } else if view.ready {
        output::line("ready")?;
    }
    match reason(&view) {
        None => Ok(()),
        Some(reason) => Err(CliError::failed(reason)),
    }
}

fn late() -> CliError {
    CliError::failed(format!(
        "the service did not answer within {} s",
        ANSWER_LIMIT.as_secs()
    ))
}

fn reason(view: &ReadyView) -> Option<String> {
    if view.ready {
        return None;
    }
    let store = &view.checks.store;
    Some(match (view.phase, &store.message) {
        (Phase::Starting, _) => "the service is starting; try again in a moment".to_owned(),
        (Phase::Stopping, _) => "the service is stopping and accepts no new requests".to_owned(),
        (Phase::Serving, Some(message)) => format!("the store cannot write: {message}"),
        (Phase::Serving, None) => "the service reports that it is not ready, without a reason".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use hapax_api::views::{CheckView, ChecksView};

    use super::*;

    #[test]
    fn each_reason_is_told() {
        let told = |ready, phase, message: Option<&str>| {
            let store = CheckView {
                ok: message.is_none(),
                message: message.map(str::to_owned),
                took_ms: 1,
            };
            reason(&ReadyView {
                ready,
                phase,
                checks: ChecksView { store },
            })
            .unwrap_or_default()
        };
        assert_eq!(told(true, Phase::Serving, None), "");
        assert_eq!(
            told(false, Phase::Serving, Some("disk full")),
            "the store cannot write: disk full"
        );
        assert!(told(false, Phase::Stopping, None).contains("stopping"));
        assert!(told(false, Phase::Starting, None).contains("starting"));
    }
}
