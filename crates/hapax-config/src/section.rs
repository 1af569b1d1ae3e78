//! Reads one table of the file: each key by its type, each mistake with its location, continuing after every mistake.
//!
//! A value that cannot be used is reported and replaced by its default, so that the rest is checked too. This is safe,
//! because a configuration with a problem is never used.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::time::Duration;

use hapax_core::Secret;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys::{GONE, Table};
use super::nearest::suggestion;
use super::problem::ConfigLocation;
use super::report::Report;
use hapax_api::duration::{format_duration, parse_duration};
use hapax_api::renamed::{Kind, hint};

/// A value from the environment or a flag, which takes precedence over the file.
#[derive(Clone, Debug)]
pub(super) struct Override {
    pub(super) text: String,
    pub(super) place: ConfigLocation,
}

pub(super) struct Section<'doc, 'report, 'text> {
    path: String,
    known: &'static Table,
    entries: BTreeMap<&'doc str, &'doc Spanned<DeValue<'doc>>>,
    overrides: BTreeMap<String, Override>,
    pub(super) report: &'report mut Report<'text>,
}

impl<'doc, 'report, 'text> Section<'doc, 'report, 'text> {
    /// Opens a table and reports unknown keys.
    pub(super) fn open(
        path: impl Into<String>,
        known: &'static Table,
        table: Option<&'doc DeTable<'doc>>,
        overrides: BTreeMap<String, Override>,
        report: &'report mut Report<'text>,
    ) -> Self {
        let path = path.into();
        let mut entries = BTreeMap::new();
        for (key, value) in table.into_iter().flatten() {
            let name: &str = key.get_ref();
            let place = report.place_of(&key.span());
            if known.has(name) {
                report.locate(&join(&path, name), place);
                entries.insert(name, value);
            } else {
                let inside = if path.is_empty() {
                    "the top level".to_owned()
                } else {
                    format!("[{path}]")
                };
                let mut gone = GONE
                    .iter()
                    .filter(|(table, key, _)| (*table, *key) == (known.header, name));
                let meant = match gone.next() {
                    Some((_, _, instead)) => format!(" any more; {instead}"),
                    None => suggestion(name, known.names()),
                };
                report.problem_at(place, format!("{inside} has no key `{name}`{meant}"));
            }
        }
        for (name, value) in &overrides {
            report.locate(&join(&path, name), value.place.clone());
        }
        Self {
            path,
            known,
            entries,
            overrides,
            report,
        }
    }

    /// The full path of a key.
    pub(super) fn path(&self, name: &str) -> String {
        join(&self.path, name)
    }

    /// Reports a problem with a key.
    pub(super) fn problem(&mut self, name: &str, message: impl Display) {
        let path = self.path(name);
        self.report.problem(&path, message);
    }

    /// Reports that a required key is missing.
    pub(super) fn missing(&mut self, name: &str, message: impl Display) {
        let path = self.path.clone();
        self.report
            .problem(&path, format_args!("`{name}` is missing; {message}"));
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.entries.contains_key(name) || self.overrides.contains_key(name)
    }

    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        self.ask(name);
        if let Some(value) = self.overrides.get(name) {
            return Some(value.text.clone());
        }
        let value = *self.entries.get(name)?;
        let path = self.path(name);
        self.text_of(&path, value)
    }

    /// A string that is parsed into another type.
    pub(super) fn parsed<T, E: Display>(
        &mut self,
        name: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        let text = self.text(name)?;
        match parse(&text) {
            Ok(value) => Some(value),
            Err(error) => {
                self.problem(name, error);
                None
            }
        }
    }

    /// One of a fixed set of words.
    pub(super) fn choice(&mut self, name: &str, choices: &'static [&'static str]) -> Option<&'static str> {
        let parse = |text: &str| {
            choices
                .iter()
                .find(|choice| **choice == text)
                .copied()
                .ok_or_else(|| {
                    let meant = suggestion(text, choices.iter().copied());
                    let renamed = hint(Kind::Setting, &format!("{name} = \"{text}\""));
                    let known: Vec<String> = choices.iter().map(|choice| format!("\"{choice}\"")).collect();
                    format!("\"{text}\" is not one of {}{meant}{renamed}", known.join(", "))
                })
        };
        self.parsed(name, parse)
    }

    pub(super) fn duration(
        &mut self,
        name: &str,
        default: Duration,
        range: &RangeInclusive<Duration>,
    ) -> Duration {
        let parse = |text: &str| {
            let duration = parse_duration(text).map_err(|error| error.to_string())?;
            let (least, most) = (format_duration(*range.start()), format_duration(*range.end()));
            if range.contains(&duration) {
                return Ok(duration);
            }
            Err(format!("\"{text}\" is not between {least} and {most}"))
        };
        self.parsed(name, parse).unwrap_or(default)
    }

    pub(super) fn integer(&mut self, name: &str, default: u32, range: &RangeInclusive<u32>) -> u32 {
        self.ask(name);
        let Some(value) = self.entries.get(name).copied() else {
            return default;
        };
        let (least, most) = (range.start(), range.end());
        match value.get_ref() {
            DeValue::Integer(integer) => {
                let number = u32::from_str_radix(integer.as_str(), integer.radix()).ok();
                if let Some(number) = number.filter(|number| range.contains(number)) {
                    return number;
                }
                self.problem(name, format_args!("{integer} is not between {least} and {most}"));
            }
            other => self.problem(
                name,
                format_args!(
                    "expected a whole number from {least} to {most}, found {}",
                    article(other)
                ),
            ),
        }
        default
    }

    /// Whether the key is `false`, which switches the feature off.
    pub(super) fn is_off(&mut self, name: &str) -> bool {
        self.ask(name);
        let value = self.entries.get(name).map(|value| value.get_ref());
        matches!(value, Some(DeValue::Boolean(false)))
    }

    pub(super) fn boolean(&mut self, name: &str, default: bool) -> bool {
        self.ask(name);
        let Some(value) = self.entries.get(name).copied() else {
            return default;
        };
        if let DeValue::Boolean(boolean) = value.get_ref() {
            return *boolean;
        }
        self.problem(
            name,
            format_args!("expected true or false, found {}", article(value.get_ref())),
        );
        default
    }

    /// An array of strings, with the path of each. Reports every element that is not a string, and returns `None` if
    /// there is one.
    pub(super) fn texts(&mut self, name: &str) -> Option<Vec<(String, String)>> {
        self.ask(name);
        let value = *self.entries.get(name)?;
        let path = self.path(name);
        let DeValue::Array(array) = value.get_ref() else {
            self.report.problem(
                &path,
                format_args!("expected an array of strings, found {}", article(value.get_ref())),
            );
            return None;
        };
        let texts: Vec<Option<(String, String)>> = array
            .iter()
            .enumerate()
            .map(|(index, item)| {
                let item_path = format!("{path}.{index}");
                let place = self.report.place_of(&item.span());
                self.report.locate(&item_path, place);
                let text = self.text_of(&item_path, item)?;
                Some((item_path, text))
            })
            .collect();
        texts.into_iter().collect()
    }

    /// A string, or an array of strings.
    pub(super) fn text_or_texts(&mut self, name: &str) -> Option<Vec<(String, String)>> {
        self.ask(name);
        let value = *self.entries.get(name)?;
        if matches!(value.get_ref(), DeValue::Array(_)) {
            return self.texts(name);
        }
        let path = self.path(name);
        self.text(name).map(|text| vec![(path, text)])
    }

    pub(super) fn secret(&mut self, name: &str) -> Option<Secret> {
        let reference = self.text(name)?;
        let path = self.path(name);
        self.report.secret(&path, &reference)
    }

    /// A value that may be a secret but need not be: a reference is resolved, and a literal causes no warning.
    pub(super) fn reference(&mut self, name: &str) -> Option<Secret> {
        let reference = self.text(name)?;
        let path = self.path(name);
        self.report.reference(&path, &reference)
    }

    /// A table of secrets, by name.
    pub(super) fn secrets_by_name(&mut self, name: &str) -> Vec<(String, Secret)> {
        let references = self.texts_by_name(name).into_iter();
        references
            .filter_map(|(path, key, reference)| Some((key, self.report.secret(&path, &reference)?)))
            .collect()
    }

    /// A table of strings: the path, the name and the value of each.
    pub(super) fn texts_by_name(&mut self, name: &str) -> Vec<(String, String, String)> {
        let table = self.table(name).and_then(|value| value.get_ref().as_table());
        let path = self.path(name);
        let mut texts = Vec::new();
        for (key, value) in table.into_iter().flatten() {
            let key: &str = key.get_ref();
            let full = join(&path, key);
            let place = self.report.place_of(&value.span());
            self.report.locate(&full, place);
            let text = self.text_of(&full, value);
            texts.extend(text.map(|text| (full, key.to_owned(), text)));
        }
        texts
    }

    /// A number from 0 to 1.
    pub(super) fn share(&mut self, name: &str) -> Option<f64> {
        self.ask(name);
        let value = *self.entries.get(name)?;
        let number = match value.get_ref() {
            DeValue::Float(number) => number.as_str().parse::<f64>().ok(),
            DeValue::Integer(number) => number.as_str().parse::<f64>().ok(),
            _ => None,
        };
        let share = number.filter(|number| (0.0..=1.0).contains(number));
        if share.is_none() {
            self.problem(name, "expected a number from 0 to 1, such as 0.1 for a tenth");
        }
        share
    }

    /// The value as written in the file, if it is a table.
    pub(super) fn table(&mut self, name: &str) -> Option<&'doc Spanned<DeValue<'doc>>> {
        self.ask(name);
        let value = *self.entries.get(name)?;
        if value.get_ref().is_table() {
            return Some(value);
        }
        self.problem(
            name,
            format_args!("expected a table, found {}", article(value.get_ref())),
        );
        None
    }

    /// An array of tables (`[[path.name]]`), with the path of each.
    pub(super) fn tables(&mut self, name: &str) -> Vec<(String, &'doc DeTable<'doc>)> {
        self.ask(name);
        let Some(value) = self.entries.get(name).copied() else {
            return Vec::new();
        };
        let path = self.path(name);
        let DeValue::Array(array) = value.get_ref() else {
            let found = article(value.get_ref());
            self.problem(
                name,
                format_args!("expected an array of tables, found {found}; write [[{path}]]"),
            );
            return Vec::new();
        };
        let mut tables = Vec::new();
        for (index, item) in array.iter().enumerate() {
            let item_path = format!("{path}.{index}");
            let place = self.report.place_of(&item.span());
            self.report.locate(&item_path, place);
            match item.get_ref() {
                DeValue::Table(table) => tables.push((item_path, table)),
                other => {
                    let found = article(other);
                    self.report
                        .problem(&item_path, format_args!("expected a table, found {found}"));
                }
            }
        }
        tables
    }

    fn text_of(&mut self, path: &str, value: &Spanned<DeValue<'_>>) -> Option<String> {
        if let DeValue::String(text) = value.get_ref() {
            return Some(text.clone().into_owned());
        }
        // The value is not printed, because it may be intended as a secret.
        self.report.problem(
            path,
            format_args!("expected a string in quotes, found {}", article(value.get_ref())),
        );
        None
    }

    fn ask(&mut self, name: &str) {
        debug_assert!(self.known.has(name), "`{name}` is not in the table of keys");
        #[cfg(test)]
        self.report.asked.insert((self.known.header, name.to_owned()));
    }
}

/// `a.b`, or `b` at the top level.
pub(super) fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

pub(super) fn article(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a point",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}
