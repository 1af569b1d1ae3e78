//! The effective configuration, for people and programs: every value and its origin. Secrets are shown as `***`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use toml::Value;

use super::Config;
use super::setting::AnyKey;
use super::top::TOP;

/// The effective values, as they were read.
#[derive(Clone, Debug, Default)]
pub struct Shown(Vec<ShownTable>);

/// The values of one table.
#[derive(Clone, Debug)]
pub(super) struct ShownTable {
    pub(super) path: String,
    pub(super) values: Vec<(&'static dyn AnyKey, Value)>,
}

impl Shown {
    /// Orders the tables as in the reference, and by name.
    pub(super) fn new(mut tables: Vec<ShownTable>) -> Self {
        tables.sort_by_key(|table| {
            let top = table.path.split('.').next();
            let position = TOP.names().position(|name| Some(name) == top);
            (position, table.path.clone())
        });
        Self(tables)
    }
}

impl Config {
    /// The effective values as TOML, each with its origin in a comment.
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        for table in &self.shown.0 {
            if !text.is_empty() {
                text.push('\n');
            }
            let _ = writeln!(text, "[{}]", table.path);
            text.push_str(&self.lines(table, |_| true));
        }
        text
    }

    /// The effective values of each section, for the admin port, without those that may contain credentials.
    pub fn to_sections(&self) -> BTreeMap<String, String> {
        let sections = self.shown.0.iter().map(|table| {
            let lines = self.lines(table, |key| !key.facts().is_local);
            (table.path.clone(), lines)
        });
        sections.collect()
    }

    fn lines(&self, table: &ShownTable, is_shown: impl Fn(&dyn AnyKey) -> bool) -> String {
        let mut text = String::new();
        for (key, value) in table.values.iter().filter(|(key, _)| is_shown(*key)) {
            let name = key.facts().name;
            let origin = self.origins.place(&format!("{}.{name}", table.path));
            let _ = writeln!(text, "{name} = {value} # {origin}");
        }
        text
    }

    /// The effective values as JSON, in the structure of the file.
    pub fn to_json(&self) -> serde_json::Value {
        let mut root = serde_json::json!({
            "server": {}, "store": {}, "sources": {}, "destinations": {}, "outbox": {}, "alerts": {}
        });
        for table in &self.shown.0 {
            let mut at = &mut root;
            for step in table.path.split('.') {
                at = &mut at[step];
            }
            *at = serde_json::json!({});
            for (key, value) in &table.values {
                at[key.facts().name] = serde_json::json!(value);
            }
        }
        root
    }
}
