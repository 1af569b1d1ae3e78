//! `outcomes.json` as it is written; its README explains it.

use std::collections::BTreeMap;
use std::time::Duration;

use hapax::outbox::Call;
use serde::Deserialize;

use crate::subject::{Action, Delivery, Dialect, End, Gate, Held};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Laws {
    pub(super) account: Vec<String>,
    pub(super) add: String,
    pub(super) settings: BTreeMap<Dialect, BTreeMap<String, String>>,
    pub(super) handlers: BTreeMap<String, Vec<Line>>,
    pub(super) scenarios: Vec<Scenario>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    pub(super) name: String,
    pub(super) dialects: Option<Vec<Dialect>>,
    pub(super) steps: Vec<Step>,
    pub(super) end: Final,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Final {
    pub(super) balance: i64,
    pub(super) inbox: i64,
    #[serde(default)]
    pub(super) outbox: Vec<Option<String>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Step {
    Deliver(Deliver),
    Release(Release),
    Fail(FailHeld),
    Join(Join),
    Claim(ClaimOne),
    Stage(StageOne),
    Purge(Purge),
    CreateTables(CreateTables),
    Execute(Execute),
    Query(Query),
    Until(Until),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Deliver {
    #[serde(rename = "deliver")]
    event: Event,
    #[serde(default = "billing")]
    consumer: String,
    #[serde(default = "add")]
    handler: String,
    #[serde(default = "patience_ms")]
    wait_ms: u64,
    retention_seconds: Option<u64>,
    #[serde(rename = "as")]
    pub(super) name: Option<String>,
    pub(super) at_once: Option<usize>,
    pub(super) expect: Option<Expected>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Event {
    id: String,
    #[serde(default = "stripe")]
    source: String,
    /// Left out, it is `{}`; null, it is unknown.
    #[serde(default = "empty_object")]
    body: Option<String>,
    #[serde(default)]
    generation: u32,
    #[serde(default)]
    replayed: bool,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Expected {
    One(String),
    Counts(BTreeMap<String, usize>),
}

/// Steps of one field and what is expected.
macro_rules! steps {
    ($($name:ident { $($field:ident: $of:ty),+ })+) => {
        $(#[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(super) struct $name { $(pub(super) $field: $of),+ })+
    };
}
steps! {
    Release { release: String, expect: String }
    FailHeld { fail: String, expect: String }
    Join { join: String, expect: String }
    ClaimOne { claim: Event, then: End, expect: String }
    StageOne { stage: Staged, then: End }
    Purge { purge: u32, expect: u64 }
    CreateTables { create_tables: bool }
    Execute { execute: Sql }
    Query { query: Sql, is: i64 }
    Until { until: Sql, is: i64 }
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Sql {
    Both(String),
    Each(BTreeMap<Dialect, String>),
}

impl Sql {
    /// None where it is to be skipped.
    pub(super) fn of(&self, dialect: Dialect) -> Option<&str> {
        match self {
            Self::Both(sql) => Some(sql),
            Self::Each(each) => each.get(&dialect).map(String::as_str),
        }
    }
}

/// One action of a handler.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    Execute(String),
    Ignore(String),
    Stage(Staged),
    Hold(bool),
    Fail(String),
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Staged {
    kind: String,
    target: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    body: String,
    key: Option<String>,
    order_key: Option<String>,
}

impl Laws {
    /// A delivery, and the test's side of it if its handler holds.
    pub(super) fn delivery(&self, step: &Deliver) -> (Delivery, Option<Held>) {
        let wait = Duration::from_millis(step.wait_ms);
        let mut inbox = hapax::Inbox::new(step.consumer.as_str()).unwrap().wait(wait);
        if let Some(seconds) = step.retention_seconds {
            inbox = inbox.retention(Duration::from_secs(seconds));
        }
        let mut held = None;
        let mut action = |line: &Line| match line.clone() {
            Line::Execute(sql) => Action::Execute(sql),
            Line::Ignore(sql) => Action::Ignore(sql),
            Line::Stage(staged) => Action::Stage(staged.call()),
            Line::Hold(holds) => {
                assert!(holds);
                let (gate, outside) = Gate::new();
                held = Some(outside);
                Action::Hold(gate)
            }
            Line::Fail(words) => Action::Fail(words),
        };
        let actions = self.handlers[&step.handler].iter().map(&mut action).collect();
        let event = step.event.event();
        let delivery = Delivery {
            inbox,
            event,
            wait,
            actions,
        };
        (delivery, held)
    }
}

impl Event {
    pub(super) fn event(&self) -> hapax::Event {
        let event = hapax::Event::new(self.source.as_str(), self.id.as_str()).unwrap();
        let mut event = event.in_generation(self.generation);
        if let Some(body) = &self.body {
            event = event.with_body(body.as_bytes());
        }
        if self.replayed { event.replayed() } else { event }
    }
}

impl Staged {
    pub(super) fn call(&self) -> Call {
        let target = self.target.as_str();
        let call = match self.kind.as_str() {
            "http" => Call::http(target),
            "destination" => Call::destination(target),
            unknown => panic!("no kind is called {unknown}"),
        };
        let mut call = call.body(self.body.as_str());
        for (name, value) in &self.headers {
            call = call.header(name, value);
        }
        if let Some(key) = &self.key {
            call = call.key(key);
        }
        if let Some(key) = &self.order_key {
            call = call.order_key(key);
        }
        call
    }
}

fn billing() -> String {
    "billing".to_owned()
}

fn add() -> String {
    "add".to_owned()
}

fn stripe() -> String {
    "stripe".to_owned()
}

const fn patience_ms() -> u64 {
    30_000
}

#[expect(clippy::unnecessary_wraps, reason = "the default of an Option")]
fn empty_object() -> Option<String> {
    Some("{}".to_owned())
}
