//! Which strings may be a source, an event id or a consumer.

use std::collections::BTreeMap;

use hapax::{Event, Inbox};
use serde::Deserialize;

use super::written;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Laws {
    names: Vec<String>,
    problems: BTreeMap<String, String>,
    cases: Vec<Case>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    text: String,
    times: usize,
    problem: Option<String>,
}

#[test]
fn a_name_that_could_not_tell_events_apart_is_refused() {
    let laws: Laws = written!("names.json");
    for (name, case) in laws
        .names
        .iter()
        .flat_map(|name| laws.cases.iter().map(move |case| (name, case)))
    {
        let text = case.text.repeat(case.times);
        let made = match name.as_str() {
            "source" => Event::new(text, "evt_1").map(drop),
            "event id" => Event::new("stripe", text).map(drop),
            "consumer" => Inbox::new(text).map(drop),
            unknown => panic!("no name is called {unknown}"),
        };
        let expected = case
            .problem
            .as_ref()
            .map(|problem| format!("the {name} {}", laws.problems[problem]));
        match (made, expected) {
            (Ok(()), None) => {}
            (Err(error), Some(words)) => {
                assert!(error.to_string().starts_with(&words), "{error}, not {words}");
            }
            (made, _) => panic!("{name}, {case:?}: {made:?}"),
        }
    }
}
