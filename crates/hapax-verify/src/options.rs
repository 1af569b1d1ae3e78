//! Options that a preset needs in addition to its secrets: a webhook's id, allowed topics, a verify token.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The options of one source.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Options(BTreeMap<String, OptionValue>);

/// The value of an option.
#[derive(Clone, PartialEq, Eq)]
pub enum OptionValue {
    /// A string.
    Text(String),
    /// A list of strings.
    List(Vec<String>),
    /// Strings by name.
    Table(BTreeMap<String, String>),
}

/// An option that a preset accepts.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OptionSpec {
    /// The key in the source's configuration.
    pub name: String,
    /// A one-sentence description.
    pub about: String,
    /// The shape of its value.
    #[serde(default)]
    pub kind: OptionKind,
    /// Whether the preset cannot work without it.
    #[serde(default)]
    pub required: bool,
    /// The value that a sample uses if nothing is configured; for a list, its only entry.
    #[serde(default)]
    pub sample: Option<String>,
}

/// The shape of an option.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OptionKind {
    /// A string.
    #[default]
    Text,
    /// A string that is never shown, and may be `env:NAME` or `file:PATH`.
    Secret,
    /// A list of strings.
    List,
    /// A table of strings that are never shown, each of which may be `env:NAME` or `file:PATH`.
    Table,
}

impl Options {
    /// Sets an option.
    pub fn set(&mut self, name: impl Into<String>, value: OptionValue) {
        self.0.insert(name.into(), value);
    }

    /// Whether the option is set.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The names of the options that are set.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The value of an option, of any shape.
    pub fn get(&self, name: &str) -> Option<&OptionValue> {
        self.0.get(name)
    }

    /// The value of a string option.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.0.get(name)? {
            OptionValue::Text(text) => Some(text),
            OptionValue::List(_) | OptionValue::Table(_) => None,
        }
    }

    /// Every string value.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.0.values().filter_map(|value| match value {
            OptionValue::Text(text) => Some(text.as_str()),
            OptionValue::List(_) | OptionValue::Table(_) => None,
        })
    }

    /// A copy in which one string value is replaced everywhere.
    pub(crate) fn replaced(&self, old: &str, new: &str) -> Self {
        let replace = |value: &OptionValue| match value {
            OptionValue::Text(text) if text == old => OptionValue::Text(new.to_owned()),
            OptionValue::Text(_) | OptionValue::List(_) | OptionValue::Table(_) => value.clone(),
        };
        let options = self.0.iter();
        options
            .map(|(name, value)| (name.clone(), replace(value)))
            .collect()
    }

    /// The value of a list option; empty if it is not set.
    pub fn list(&self, name: &str) -> &[String] {
        match self.0.get(name) {
            Some(OptionValue::List(list)) => list,
            Some(OptionValue::Text(_) | OptionValue::Table(_)) | None => &[],
        }
    }

    /// The value of a table option, if it is set.
    pub fn table(&self, name: &str) -> Option<&BTreeMap<String, String>> {
        match self.0.get(name)? {
            OptionValue::Table(table) => Some(table),
            OptionValue::Text(_) | OptionValue::List(_) => None,
        }
    }
}

impl<N: Into<String>> FromIterator<(N, OptionValue)> for Options {
    fn from_iter<I: IntoIterator<Item = (N, OptionValue)>>(options: I) -> Self {
        Options(
            options
                .into_iter()
                .map(|(name, value)| (name.into(), value))
                .collect(),
        )
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Only names are shown, because values may be secrets.
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}
