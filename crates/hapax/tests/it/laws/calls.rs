//! Which calls may be staged.

use std::collections::BTreeMap;

use hapax::outbox::{self, Call};
use rusqlite::Connection;
use serde::Deserialize;

use super::written;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Laws {
    problems: BTreeMap<String, String>,
    cases: Vec<Case>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    kind: String,
    target: Repeated,
    #[serde(default)]
    headers: usize,
    #[serde(default)]
    body: usize,
    key: Option<Repeated>,
    order_key: Option<Repeated>,
    problem: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Repeated(String, usize);

impl Repeated {
    fn text(&self) -> String {
        self.0.repeat(self.1)
    }
}

#[test]
fn a_call_that_cannot_be_made_is_refused_where_it_is_staged() {
    let laws: Laws = written!("calls.json");
    let mut connection = Connection::open_in_memory().unwrap();
    hapax::create_tables(&connection).unwrap();
    let mut tx = connection.transaction().unwrap();
    for case in &laws.cases {
        let staged = outbox::stage(&mut tx, case.call()).map_err(|error| error.to_string());
        match (staged, &case.problem) {
            (Ok(()), None) => {}
            (Err(error), Some(problem)) => {
                assert!(error.contains(&laws.problems[problem]), "{case:?}: {error}");
            }
            (staged, _) => panic!("{case:?}: {staged:?}"),
        }
    }
}

impl Case {
    fn call(&self) -> Call {
        let call = match self.kind.as_str() {
            "http" => Call::http(self.target.text()),
            "destination" => Call::destination(self.target.text()),
            unknown => panic!("no kind is called {unknown}"),
        };
        let mut call = call.body(vec![0; self.body]);
        for number in 0..self.headers {
            call = call.header(format!("x-{number}"), "value");
        }
        if let Some(key) = &self.key {
            call = call.key(key.text());
        }
        if let Some(key) = &self.order_key {
            call = call.order_key(key.text());
        }
        call
    }
}
