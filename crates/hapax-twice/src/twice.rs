//! The builder with which a Rust test sets up a run.

use std::future::Future;
use std::path::Path;
use std::time::Duration;

use hapax_core::Secret;
use hapax_verify::catalogue::{self, Provider};
use http::Uri;

use crate::client::Client;
use crate::effect::State;
use crate::error::Error;
use crate::event::Event;
use crate::folder;
use crate::plan::Plan;
use crate::report::{PlanResult, Report};
use crate::run::{self, Runner, Watch};
use crate::sender::Sender;
use crate::snapshot::Snapshot;

const SETTLE_DEFAULT: Duration = Duration::from_millis(250);

/// A test of one handler.
pub struct Twice {
    url: String,
    provider: Option<String>,
    secret: Option<Secret>,
    events: Vec<Event>,
    plans: Vec<Plan>,
    snapshot: Option<Snapshot>,
    settle: Duration,
    watch: Watch,
}

impl Twice {
    /// A test of the handler at this URL.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            provider: None,
            secret: None,
            events: Vec::new(),
            plans: Plan::standard(),
            snapshot: None,
            settle: SETTLE_DEFAULT,
            watch: Box::new(|_| {}),
        }
    }

    /// The provider whose deliveries the handler accepts: a name from the catalogue, such as `stripe`.
    #[must_use]
    pub fn provider(mut self, name: impl Into<String>) -> Self {
        self.provider = Some(name.into());
        self
    }

    /// The secret with which the handler verifies signatures.
    #[must_use]
    pub fn secret(mut self, secret: impl Into<String>) -> Self {
        self.secret = Some(Secret::new(secret));
        self
    }

    /// Adds an event. The body must be JSON; its id is replaced by fresh ones. Without any event, the provider's sample
    /// is used.
    #[must_use]
    pub fn event(mut self, name: impl Into<String>, body: impl Into<String>) -> Self {
        self.events.push(Event::new(name.into(), Vec::new(), body.into()));
        self
    }

    /// Adds the events in a folder: each `NAME.json` is a body, and the optional `NAME.headers` contains further
    /// headers.
    pub fn events_in(mut self, folder: &Path) -> Result<Self, Error> {
        self.events.extend(folder::read(folder)?);
        Ok(self)
    }

    /// The plans to run [default: [`Plan::standard`]].
    #[must_use]
    pub fn plans(mut self, plans: impl Into<Vec<Plan>>) -> Self {
        self.plans = plans.into();
        self
    }

    /// How to read the application's state: lines of text, such as the rows of a query.
    #[must_use]
    pub fn snapshot<F, T, E>(mut self, take: F) -> Self
    where
        F: Fn() -> T + Send + Sync + 'static,
        T: Future<Output = Result<String, E>> + Send + 'static,
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        self.snapshot = Some(Snapshot::of_function(take));
        self
    }

    /// Reads the application's state from the output of a shell command.
    #[must_use]
    pub fn snapshot_command(mut self, command: impl Into<String>) -> Self {
        self.snapshot = Some(Snapshot::of_command(command.into()));
        self
    }

    /// The time between two equal snapshots after which the handler counts as done [default: 250 ms].
    #[must_use]
    pub fn settle(mut self, apart: Duration) -> Self {
        self.settle = apart;
        self
    }

    /// Calls `watch` with each result as soon as it is available.
    #[must_use]
    pub fn watch(mut self, watch: impl Fn(&PlanResult) + Send + Sync + 'static) -> Self {
        self.watch = Box::new(watch);
        self
    }

    /// Runs the test. The findings are in the report; an error means that the test could not be run.
    pub async fn run(self) -> Result<Report, Error> {
        let provider = provider_named(self.provider.as_deref())?;
        let secret = self
            .secret
            .ok_or(Error::Missing("the secret that the handler checks"))?;
        let snapshot = self.snapshot.ok_or(Error::Missing("a snapshot to compare"))?;
        let url = address(&self.url)?;
        let events = if self.events.is_empty() {
            vec![Event::sample()]
        } else {
            self.events
        };
        let runner = Runner {
            sender: Sender::new(provider, &secret, url.to_string())?,
            client: Client::new(url)?,
            snapshot,
            settle: self.settle,
            watch: self.watch,
            state: State::default(),
        };
        run::run(runner, events, &self.plans).await
    }
}

impl std::fmt::Debug for Twice {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Omitted because commands may contain passwords, and bodies are long.
        formatter
            .debug_struct("Twice")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

fn provider_named(name: Option<&str>) -> Result<&'static Provider, Error> {
    let name = name.ok_or(Error::Missing("a provider to sign as"))?;
    catalogue::get(name).ok_or_else(|| Error::Provider {
        name: name.to_owned(),
        known: catalogue::all()
            .iter()
            .map(|provider| provider.name.as_str())
            .collect::<Vec<_>>()
            .join(", "),
    })
}

pub(crate) fn address(text: &str) -> Result<Uri, Error> {
    let url: Option<Uri> = text.parse().ok();
    let known = |url: &Uri| matches!(url.scheme_str(), Some("http" | "https")) && url.host().is_some();
    url.filter(known).ok_or_else(|| Error::Url(text.to_owned()))
}
