//! Reads one table of the file: each key by its type, each mistake with its location, continuing after every mistake.
//!
//! A value that cannot be used is reported and replaced by its default, so that the rest is checked too. This is safe,
//! because a configuration with a problem is never used.
//!
//! What is read is also what `config show` prints: each value is noted when it is read.

use std::collections::BTreeMap;
use std::fmt::Display;

use hapax_core::Secret;
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Value};

use super::nearest::suggestion;
use super::problem::ConfigLocation;
use super::report::Report;
use super::setting::{AnyKey, FromToml, Key, Setting, Table, Word, article};
use super::show::ShownTable;

/// Removed keys: the table, the key, and the replacement.
static GONE: [(&str, &str, &str); 1] = [(
    "[server]",
    "state_key",
    "it was removed, because the whole store is encrypted now: write the same secret under `[store]`, as `encryption_keys = \
     [\"env:HAPAX_STATE_KEY\"]`, and values that it encrypted stay readable",
)];

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
    shown: Vec<(&'static dyn AnyKey, Value)>,
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
                    Some((_, _, instead)) => format!("; {instead}"),
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
            shown: Vec::new(),
            report,
        }
    }

    /// Reads an empty table, for the defaults.
    pub(super) fn of_nothing<T>(
        known: &'static Table,
        read: impl FnOnce(&mut Section<'_, '_, '_>) -> T,
    ) -> T {
        let environment = super::Environment::default();
        let mut report = Report::new("", &environment);
        read(&mut Section::open("", known, None, BTreeMap::new(), &mut report))
    }

    /// Shows the values under the table's own header, if there are any.
    pub(super) fn close(self) {
        let Self {
            path,
            known,
            mut shown,
            report,
            ..
        } = self;
        shown.sort_by_key(|(key, _)| known.names().position(|name| name == key.facts().name));
        if !shown.is_empty() {
            report.shown.push(ShownTable { path, values: shown });
        }
    }

    /// The values as one value of the enclosing table.
    pub(super) fn into_value(self) -> Value {
        let values = self.shown.into_iter();
        Value::Table(
            values
                .map(|(key, value)| (key.facts().name.to_owned(), value))
                .collect(),
        )
    }

    /// The full path of a key.
    pub(super) fn path(&self, key: impl AsRef<str>) -> String {
        join(&self.path, key.as_ref())
    }

    /// Reports a problem with a key.
    pub(super) fn problem(&mut self, key: impl AsRef<str>, message: impl Display) {
        let path = self.path(key);
        self.report.problem(&path, message);
    }

    /// Reports that a required key is missing.
    pub(super) fn missing(&mut self, key: impl AsRef<str>, message: impl Display) {
        self.report.problem(
            &self.path,
            format_args!("`{}` is missing; {message}", key.as_ref()),
        );
    }

    /// The word under a required key, such as the kind of a table. Reports that it is missing, with the words to
    /// choose from.
    pub(super) fn required_word<T: Word>(&mut self, key: &'static Key<T>) -> Option<T> {
        if !self.has(key) {
            let mut words = T::words()
                .into_iter()
                .map(|word| format!("\"{word}\""))
                .collect::<Vec<_>>();
            let last = words.pop().unwrap_or_default();
            self.missing(
                key,
                format_args!("write {} = {} or {last}", key.name(), words.join(", ")),
            );
        }
        self.find(key)
    }

    pub(super) fn has(&self, key: impl AsRef<str>) -> bool {
        let name = key.as_ref();
        self.entries.contains_key(name) || self.overrides.contains_key(name)
    }

    /// Shows a value for a key, instead of the one that was read.
    pub(super) fn show(&mut self, key: &'static dyn AnyKey, value: impl Into<Value>) {
        self.hide(key);
        self.shown.push((key, value.into()));
    }

    /// Shows no value for a key: it has no effect here.
    pub(super) fn hide(&mut self, key: &'static dyn AnyKey) {
        let name = key.facts().name;
        self.shown.retain(|(shown, _)| shown.facts().name != name);
    }

    /// Shows nothing of the table: it has no effect.
    pub(super) fn hide_all(&mut self) {
        self.shown.clear();
    }

    /// Refuses and hides the keys that do not apply to this kind of table, such as `a destination`.
    pub(super) fn refuse_others(&mut self, what: &str, kind: &str) {
        for key in self.known.keys {
            let facts = key.facts();
            if facts.applies_to(kind) {
                continue;
            }
            self.hide(*key);
            if self.has(facts.name) {
                self.problem(
                    facts.name,
                    format_args!("does not apply to {what} of kind \"{kind}\"; remove it"),
                );
            }
        }
    }

    /// The value, if there is one.
    pub(super) fn find<T: FromToml>(&mut self, key: &'static Key<T>) -> Option<T> {
        let value = self.read(key)?;
        self.show(key, value.to_toml());
        Some(value)
    }

    /// The value, or the declared default.
    pub(super) fn get<T: FromToml>(&mut self, key: &'static Key<T>) -> T {
        self.get_or(key, || key.default_value())
    }

    /// The value, or a default that depends on something else.
    pub(super) fn get_or<T: FromToml>(&mut self, key: &'static Key<T>, default: impl FnOnce() -> T) -> T {
        let value = self.read(key).unwrap_or_else(default);
        self.show(key, value.to_toml());
        value
    }

    fn read<T: FromToml>(&mut self, key: &'static Key<T>) -> Option<T> {
        self.ask(key);
        let (name, facts) = (key.facts().name, key.facts());
        let read = match self.overrides.get(name) {
            Some(value) => T::from_text(&value.text, facts),
            None => T::from_toml(self.entries.get(name)?.get_ref(), facts),
        };
        read.map_err(|error| self.problem(key, error)).ok()
    }

    /// A string that is parsed into another type. It is shown as written.
    pub(super) fn parsed<T, E: Display>(
        &mut self,
        key: &'static Key<String>,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        let text = self.find(key)?;
        parse(&text).map_err(|error| self.problem(key, error)).ok()
    }

    /// Whether the key is `false`, which switches the feature off.
    pub(super) fn is_off(&mut self, key: &'static dyn AnyKey) -> bool {
        self.ask(key);
        let value = self.entries.get(key.facts().name).map(|value| value.get_ref());
        matches!(value, Some(DeValue::Boolean(false)))
    }

    /// An array of strings, with the path of each. Reports every element that is not a string, and returns `None` if
    /// there is one.
    pub(super) fn texts(&mut self, key: &'static Key<Vec<String>>) -> Option<Vec<(String, String)>> {
        let texts = self.array(key)?;
        self.show_texts(key, &texts);
        Some(texts)
    }

    /// An array of references to secrets, with the path of each. It is not shown.
    pub(super) fn references(&mut self, key: &'static Key<Vec<Secret>>) -> Option<Vec<(String, String)>> {
        self.array(key)
    }

    fn array<T: Setting>(&mut self, key: &'static Key<T>) -> Option<Vec<(String, String)>> {
        self.ask(key);
        let value = *self.entries.get(key.facts().name)?;
        let path = self.path(key);
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

    /// An array of strings, or the declared default.
    pub(super) fn list(&mut self, key: &'static Key<Vec<String>>) -> Vec<(String, String)> {
        let texts = self.texts(key).unwrap_or_else(|| {
            let path = self.path(key);
            let default = key.default_value().into_iter();
            default.map(|text| (path.clone(), text)).collect()
        });
        self.show_texts(key, &texts);
        texts
    }

    fn show_texts(&mut self, key: &'static Key<Vec<String>>, texts: &[(String, String)]) {
        let texts: Vec<String> = texts.iter().map(|(_, text)| text.clone()).collect();
        self.show(key, texts);
    }

    /// A string, or an array of strings.
    pub(super) fn text_or_texts(&mut self, key: &'static Key<Vec<String>>) -> Option<Vec<(String, String)>> {
        self.ask(key);
        let value = *self.entries.get(key.facts().name)?;
        if matches!(value.get_ref(), DeValue::Array(_)) {
            return self.texts(key);
        }
        let path = self.path(key);
        self.text(key).map(|text| vec![(path, text)])
    }

    /// A secret; its origin is shown instead of it.
    pub(super) fn secret(&mut self, key: &'static Key<Secret>) -> Option<Secret> {
        let reference = self.text(key)?;
        let path = self.path(key);
        let secret = self.report.secret(&path, &reference)?;
        self.show(key, self.report.origins.hidden(&path));
        Some(secret)
    }

    /// A value that may be a secret but need not be: a reference is resolved, and a literal causes no warning.
    pub(super) fn reference<T: Setting>(&mut self, key: &'static Key<T>) -> Option<Secret> {
        let reference = self.text(key)?;
        let path = self.path(key);
        let secret = self.report.reference(&path, &reference)?;
        self.show(key, self.report.origins.hidden(&path));
        Some(secret)
    }

    /// The same, parsed into another type.
    pub(super) fn referenced<T: Setting>(&mut self, key: &'static Key<T>) -> Option<T> {
        let text = self.reference(key)?;
        let value = T::from_text(text.expose(), key.facts());
        value.map_err(|error| self.problem(key, error)).ok()
    }

    /// A table of secrets, by name.
    pub(super) fn secrets_by_name(&mut self, key: &'static Key<toml::Table>) -> Vec<(String, Secret)> {
        let references = self.texts_by_name(key).into_iter();
        references
            .filter_map(|(path, key, reference)| Some((key, self.report.secret(&path, &reference)?)))
            .collect()
    }

    /// A table of strings: the path, the name and the value of each.
    pub(super) fn texts_by_name(&mut self, key: &'static Key<toml::Table>) -> Vec<(String, String, String)> {
        let table = self.table(key).and_then(|value| value.get_ref().as_table());
        let path = self.path(key);
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

    /// The table under a key, opened; an empty one if it is missing.
    pub(super) fn inner(
        &mut self,
        key: &'static Key<toml::Table>,
        known: &'static Table,
    ) -> Section<'doc, '_, 'text> {
        let table = self.table(key).and_then(|value| value.get_ref().as_table());
        let path = self.path(key);
        Section::open(path, known, table, BTreeMap::new(), self.report)
    }

    /// The value as written in the file, if it is a table.
    pub(super) fn table(&mut self, key: &'static Key<toml::Table>) -> Option<&'doc Spanned<DeValue<'doc>>> {
        self.ask(key);
        let value = *self.entries.get(key.facts().name)?;
        if value.get_ref().is_table() {
            return Some(value);
        }
        self.problem(
            key,
            format_args!("expected a table, found {}", article(value.get_ref())),
        );
        None
    }

    /// An array of tables (`[[path.name]]`), with the path of each.
    pub(super) fn tables(&mut self, key: &'static Key<toml::Table>) -> Vec<(String, &'doc DeTable<'doc>)> {
        self.ask(key);
        let Some(value) = self.entries.get(key.facts().name).copied() else {
            return Vec::new();
        };
        let path = self.path(key);
        let DeValue::Array(array) = value.get_ref() else {
            let found = article(value.get_ref());
            self.problem(
                key,
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

    fn text<T: Setting>(&mut self, key: &'static Key<T>) -> Option<String> {
        self.ask(key);
        if let Some(value) = self.overrides.get(key.facts().name) {
            return Some(value.text.clone());
        }
        let value = *self.entries.get(key.facts().name)?;
        let path = self.path(key);
        self.text_of(&path, value)
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

    fn ask(&mut self, key: &dyn AnyKey) {
        let name = key.facts().name;
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
