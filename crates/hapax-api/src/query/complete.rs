//! Completion: suggestions for the term at the search box's cursor.

use hapax_core::{ErrorClass, EventStatus};

use super::KEYS;

/// Maximum number of suggestions.
const SUGGESTIONS_MAX: usize = 12;

/// Names that only the running service knows.
#[derive(Clone, Debug, Default)]
pub struct Known {
    pub sources: Vec<String>,
    pub destinations: Vec<String>,
    /// Recently seen event types.
    pub types: Vec<String>,
    /// JSON pointers that at least one source indexes.
    pub pointers: Vec<String>,
}

/// A suggested replacement for the last term.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Suggestion {
    /// The complete term.
    pub term: String,
    /// The events it matches.
    pub help: String,
}

/// Suggests completions for the last term of a query.
pub fn complete(text: &str, known: &Known) -> Vec<Suggestion> {
    let last = text.rsplit(char::is_whitespace).next().unwrap_or_default();
    let mut suggestions = match last.split_once(':') {
        None => keys(last),
        Some((key, value)) => values(key, value, known),
    };
    suggestions.truncate(SUGGESTIONS_MAX);
    suggestions
}

fn keys(beginning: &str) -> Vec<Suggestion> {
    let fitting = KEYS.iter().filter(|key| key.name.starts_with(beginning));
    fitting
        .map(|key| Suggestion {
            term: format!("{}:", key.name),
            help: key.help.to_owned(),
        })
        .collect()
}

fn values(key: &str, beginning: &str, known: &Known) -> Vec<Suggestion> {
    let own = |names: &[String]| names.to_vec();
    let fixed = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let names: Vec<String> = match key {
        "source" => own(&known.sources),
        "to" => own(&known.destinations),
        "type" => own(&known.types),
        "status" => EventStatus::ALL.iter().map(ToString::to_string).collect(),
        "error" => ErrorClass::ALL.iter().map(ToString::to_string).collect(),
        "has" => fixed(&["conflict"]),
        "duplicates" => fixed(&[">0", ">1", ">=10"]),
        "since" | "until" => fixed(&["15m", "1h", "24h", "7d"]),
        "body" => known
            .pointers
            .iter()
            .map(|pointer| format!("{pointer}="))
            .collect(),
        _ => Vec::new(),
    };
    let help = KEYS.iter().find(|one| one.name == key).map_or("", |one| one.help);
    let fitting = names.into_iter().filter(|name| name.starts_with(beginning));
    fitting
        .map(|name| Suggestion {
            term: format!("{key}:{name}"),
            help: help.to_owned(),
        })
        .collect()
}
