//! The signals that `serve` understands.

use std::io;

use tokio::signal::unix::{Signal as Stream, SignalKind, signal};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Read the configuration again.
    Reload,
    /// Stop; with the signal's name.
    Stop(&'static str),
}

pub struct Signals {
    hangup: Stream,
    interrupt: Stream,
    terminate: Stream,
}

impl Signals {
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            hangup: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    pub async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.hangup.recv() => Signal::Reload,
            _ = self.interrupt.recv() => Signal::Stop("SIGINT"),
            _ = self.terminate.recv() => Signal::Stop("SIGTERM"),
        }
    }

    /// Waits for another stop signal: someone does not want to wait.
    pub async fn second_stop(&mut self) {
        while self.next().await == Signal::Reload {}
    }
}
