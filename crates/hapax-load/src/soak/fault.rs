//! The fault that hits the service in the middle of a round.

use std::time::Duration;

use anyhow::Context as _;
use rustix::process::{Pid, Signal, kill_process};

use crate::service::{Service, Site};

/// Longer than the leases of the destinations, so that the process loses the deliveries it holds.
const STOPPED_FOR: Duration = Duration::from_secs(8);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Only the faults of the sink.
    None,
    /// SIGKILL, and a restart.
    Kill,
    /// SIGSTOP until the leases have expired, then SIGCONT.
    Stop,
}

impl Fault {
    /// A random fault; most rounds have none.
    pub(super) fn draw(may_kill: bool) -> Self {
        match fastrand::u8(..8) {
            0 => Self::Stop,
            1 | 2 if may_kill => Self::Kill,
            _ => Self::None,
        }
    }

    pub(super) fn label(self) -> &'static str {
        match self {
            Self::None => "a sink that fails occasionally",
            Self::Kill => "SIGKILL and a restart",
            Self::Stop => "SIGSTOP past the leases",
        }
    }

    /// Applies the fault; returns the service that runs afterwards.
    pub(super) async fn strike(self, site: &Site, service: Service) -> anyhow::Result<Service> {
        match self {
            Self::None => Ok(service),
            Self::Kill => {
                service.kill().await?;
                site.start().await
            }
            Self::Stop => {
                let pid = service
                    .pid()
                    .and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
                let pid = pid.context("the service has no process id")?;
                kill_process(pid, Signal::STOP)?;
                tokio::time::sleep(STOPPED_FOR).await;
                kill_process(pid, Signal::CONT)?;
                Ok(service)
            }
        }
    }
}
