//! Overrides of the file by the environment and by flags: `HAPAX_SERVER__LISTEN` takes precedence over `server.listen`.

use std::collections::BTreeMap;

use super::Flag;
use super::environment::NoVariable;
use super::nearest::suggestion;
use super::problem::ConfigLocation;
use super::report::Report;
use super::section::Override;
use super::server::{SERVER, STORE};
use super::setting::Table;
use hapax_api::renamed::{Kind, RENAMED};

/// The sections that the environment can override. The names of sources and destinations are free, so their tables are
/// excluded.
static SECTIONS: [(&str, &Table); 2] = [("HAPAX_SERVER__", &SERVER), ("HAPAX_STORE__", &STORE)];

/// The overrides of `[section]`, by key.
pub(super) fn of_section(
    section: &str,
    flags: &[Flag],
    report: &mut Report<'_>,
) -> BTreeMap<String, Override> {
    let prefix = format!("HAPAX_{}__", section.to_ascii_uppercase());
    let mut overrides = BTreeMap::new();
    let environment = report.environment();
    let known = SECTIONS
        .iter()
        .find(|(name, _)| *name == prefix)
        .map(|(_, table)| *table);
    for (variable, rest) in environment.beginning_with(&prefix) {
        let key = rest.to_ascii_lowercase();
        if !known.is_some_and(|table| table.has(&key)) {
            continue;
        }
        let place = ConfigLocation::Variable(variable.to_owned());
        match environment.get(variable) {
            Ok(text) => {
                let text = text.to_owned();
                overrides.insert(key, Override { text, place });
            }
            Err(NoVariable::NotSet | NoVariable::NotUtf8) => {
                report.problem_at(place, "the value is not UTF-8");
            }
        }
    }
    for flag in flags {
        if let Some(key) = flag
            .path
            .strip_prefix(section)
            .and_then(|rest| rest.strip_prefix('.'))
        {
            let text = flag.value.clone();
            let place = ConfigLocation::Flag(flag.flag);
            overrides.insert(key.to_owned(), Override { text, place });
        }
    }
    overrides
}

/// Reports variables that look like keys but are not. Otherwise a typing error would silently have no effect.
pub(super) fn refuse_strangers(report: &mut Report<'_>) {
    let environment = report.environment();
    for (prefix, table) in SECTIONS {
        for (variable, rest) in environment.beginning_with(prefix) {
            let key = rest.to_ascii_lowercase();
            if !table.has(&key) {
                let place = ConfigLocation::Variable(variable.to_owned());
                let meant = suggestion(&key, table.names());
                report.problem_at(place, format!("{} has no key `{key}`{meant}", table.header));
            }
        }
    }
    for (kind, old, new) in RENAMED {
        if *kind == Kind::Variable && environment.text(old).is_some() {
            report.warn(old, format!("this variable is no longer read; it is now `{new}`"));
        }
    }
    for prefix in ["HAPAX_SOURCES__", "HAPAX_DESTINATIONS__"] {
        for (variable, _) in environment.beginning_with(prefix) {
            let place = ConfigLocation::Variable(variable.to_owned());
            let message = "only [server] and [store] can be set by variables; name secrets with \"env:NAME\" in the file";
            report.problem_at(place, message);
        }
    }
}
