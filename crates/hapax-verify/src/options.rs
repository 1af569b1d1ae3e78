//! What a preset needs besides its secrets: a webhook's id, allowed topics, a verify token.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The options of one source.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Options(BTreeMap<String, OptionValue>);

/// The value of an option.
#[derive(Clone, PartialEq, Eq)]
pub enum OptionValue {
    /// A text.
    Text(String),
    /// Several.
    List(Vec<String>),
    /// Texts by name.
    Table(BTreeMap<String, String>),
}

/// An option that a preset takes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OptionSpec {
    /// Its name.
    pub name: String,
    /// What it is, in a sentence.
    pub about: String,
    /// Its shape.
    #[serde(default)]
    pub kind: OptionKind,
    /// Whether the preset is useless without it.
    #[serde(default)]
    pub required: bool,
    /// What a sample uses where nothing is configured; of a list, its only entry.
    #[serde(default)]
    pub sample: Option<String>,
}

/// The shape of an option.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OptionKind {
    /// A text.
    #[default]
    Text,
    /// A text that is never shown, and may be `env:NAME` or `file:PATH`.
    Secret,
    /// A list of strings.
    List,
    /// A table of texts that are never shown, each of which may be `env:NAME` or `file:PATH`.
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

    /// An option, whatever its shape.
    pub fn get(&self, name: &str) -> Option<&OptionValue> {
        self.0.get(name)
    }

    /// An option that is a text.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.0.get(name)? {
            OptionValue::Text(text) => Some(text),
            OptionValue::List(_) | OptionValue::Table(_) => None,
        }
    }

    /// Every option that is a text.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.0.values().filter_map(|value| match value {
            OptionValue::Text(text) => Some(text.as_str()),
            OptionValue::List(_) | OptionValue::Table(_) => None,
        })
    }

    /// The same with another text wherever this one is.
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

    /// An option that is a list; empty if it is not set.
    pub fn list(&self, name: &str) -> &[String] {
        match self.0.get(name) {
            Some(OptionValue::List(list)) => list,
            Some(OptionValue::Text(_) | OptionValue::Table(_)) | None => &[],
        }
    }

    /// An option that is a table, if it is set.
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
        // Values may be secrets.
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}
