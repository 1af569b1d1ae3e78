//! `options`: settings that a preset needs in addition to its secrets, checked against the preset's declared options.

use std::collections::BTreeMap;

use hapax_core::Secret;
use hapax_verify::catalogue::Provider;
use hapax_verify::{OptionKind, OptionSpec, OptionValue, Options};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::nearest::suggestion;
use crate::section::Section;
use crate::setting::{Key, article};

pub(super) static OPTIONS: Key<toml::Table> = Key::with_default(
    "options",
    "{}",
    "Options of the provider in addition to its secrets, such as `{ verify_token = \"env:NAME\" }`; `hapax providers NAME` lists them.",
);

/// The options of a source. Options that cannot be used are reported and omitted.
pub(super) fn read(section: &mut Section<'_, '_, '_>, provider: Option<&Provider>) -> Options {
    let specs = provider.map_or(&[][..], |provider| &provider.options);
    let value = section.table(&OPTIONS);
    let table = value.and_then(|value| value.get_ref().as_table());
    let mut options = Options::default();
    for (key, value) in table.into_iter().flatten() {
        let name: &str = key.get_ref();
        let path = format!("{}.{name}", section.path(&OPTIONS));
        let place = section.report.place_of(&key.span());
        match specs.iter().find(|spec| spec.name == name) {
            None => {
                let message = unknown(name, provider);
                section
                    .report
                    .problem_at(place, format!("{}: {message}", section.path(&OPTIONS)));
            }
            Some(spec) => {
                section.report.locate(&path, place);
                if let Some(value) = read_value(section, &path, spec, value) {
                    options.set(name, value);
                }
            }
        }
    }
    report_missing(section, specs, table);
    show(section, specs, &options);
    options
}

fn show(section: &mut Section<'_, '_, '_>, specs: &[OptionSpec], options: &Options) {
    let path = section.path(&OPTIONS);
    let value = |spec: &OptionSpec| {
        let value = match (spec.kind, options.get(&spec.name)?) {
            (OptionKind::Secret | OptionKind::Table, _) => {
                section.report.origins.hidden(&format!("{path}.{}", spec.name))
            }
            (_, OptionValue::Text(text)) => text.clone().into(),
            (_, OptionValue::List(list)) => list.clone().into(),
            (_, OptionValue::Table(table)) => {
                let texts = table.iter();
                toml::Value::Table(
                    texts
                        .map(|(name, text)| (name.clone(), text.clone().into()))
                        .collect(),
                )
            }
        };
        Some((spec.name.clone(), value))
    };
    let shown: toml::Table = specs.iter().filter_map(value).collect();
    if !shown.is_empty() {
        section.show(&OPTIONS, shown);
    }
}

fn unknown(name: &str, provider: Option<&Provider>) -> String {
    let Some(provider) = provider else {
        return format!("a source without a provider has no option `{name}`; remove it");
    };
    let known = provider.options.iter().map(|spec| spec.name.as_str());
    let meant = match suggestion(name, known) {
        meant if meant.is_empty() => "; remove it".to_owned(),
        meant => meant,
    };
    format!("the provider `{}` has no option `{name}`{meant}", provider.name)
}

fn report_missing(section: &mut Section<'_, '_, '_>, specs: &[OptionSpec], table: Option<&DeTable<'_>>) {
    let is_written = |spec: &OptionSpec| {
        let mut names = table.into_iter().flatten().map(|(key, _)| key.get_ref());
        names.any(|name| *name == spec.name)
    };
    for spec in specs.iter().filter(|spec| spec.required && !is_written(spec)) {
        section.missing(format!("{}.{}", OPTIONS.name(), spec.name), &spec.about);
    }
}

fn read_value(
    section: &mut Section<'_, '_, '_>,
    path: &str,
    spec: &OptionSpec,
    value: &Spanned<DeValue<'_>>,
) -> Option<OptionValue> {
    let read = match (spec.kind, value.get_ref()) {
        (OptionKind::Text, value) => scalar(value).map(OptionValue::Text),
        (OptionKind::Secret, DeValue::String(reference)) => {
            let secret: Secret = section.report.secret(path, reference)?;
            Some(OptionValue::Text(secret.expose().to_owned()))
        }
        (OptionKind::List, DeValue::Array(array)) => {
            let texts = array.iter().map(|item| scalar(item.get_ref()));
            texts.collect::<Option<Vec<String>>>().map(OptionValue::List)
        }
        (OptionKind::Table, DeValue::Table(table)) if has_only_texts(table) => {
            let mut secrets = BTreeMap::new();
            for (key, item) in table {
                if let DeValue::String(reference) = item.get_ref() {
                    let secret: Secret = section.report.secret(path, reference)?;
                    secrets.insert(key.get_ref().to_string(), secret.expose().to_owned());
                }
            }
            Some(OptionValue::Table(secrets))
        }
        (OptionKind::Secret | OptionKind::List | OptionKind::Table, _) => None,
    };
    if read.is_none() {
        let (expected, found) = (shape(spec.kind), article(value.get_ref()));
        // The value is not printed, because it may be intended as a secret.
        section.report.problem(
            path,
            format_args!("expected {expected}, found {found}; {}", spec.about),
        );
    }
    read
}

fn has_only_texts(table: &DeTable<'_>) -> bool {
    table
        .iter()
        .all(|(_, item)| matches!(item.get_ref(), DeValue::String(_)))
}

/// A string, or an unquoted value that stands for one.
fn scalar(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) if text.is_empty() => None,
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(integer) => Some(integer.to_string()),
        DeValue::Boolean(boolean) => Some(boolean.to_string()),
        DeValue::Float(_) | DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
    }
}

const fn shape(kind: OptionKind) -> &'static str {
    match kind {
        OptionKind::Text => "a non-empty string",
        OptionKind::Secret => "a secret (\"env:NAME\", \"file:PATH\", \"exec:COMMAND\" or a literal)",
        OptionKind::List => "an array of strings",
        OptionKind::Table => "a table of secrets (\"env:NAME\", \"file:PATH\", \"exec:COMMAND\" or literals)",
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use hapax_verify::catalogue;

    use super::*;
    use crate::environment::Environment;
    use crate::problem;
    use crate::report::Report;
    use crate::source::SOURCE;

    fn provider() -> Provider {
        let spec = |name: &str, kind, required| OptionSpec {
            name: name.to_owned(),
            about: format!("it is the {name} of the app"),
            kind,
            required,
            sample: None,
        };
        Provider {
            options: vec![
                spec("webhook_id", OptionKind::Text, true),
                spec("verify_token", OptionKind::Secret, false),
                spec("topic_arns", OptionKind::List, false),
                spec("keys", OptionKind::Table, false),
            ],
            ..catalogue::get("stripe").unwrap().clone()
        }
    }

    /// The parsed options and the messages of all problems.
    fn read_from(text: &str) -> (Options, Vec<String>) {
        let environment = Environment::with([("TOKEN", "hunter2")]);
        let mut report = Report::new(text, &environment);
        let document = DeTable::parse(text).unwrap();
        let section = &mut Section::open(
            "sources.app",
            &SOURCE,
            Some(document.get_ref()),
            BTreeMap::new(),
            &mut report,
        );
        let options = read(section, Some(&provider()));
        let lines = report.problems.iter();
        let lines = lines
            .map(|one| problem::line(Path::new("hapax.toml"), one))
            .collect();
        (options, lines)
    }

    #[test]
    fn each_option_is_read_by_its_kind_and_secrets_by_their_reference() {
        let (options, problems) = read_from(
            "options = { webhook_id = 7, verify_token = \"env:TOKEN\", topic_arns = [\"a\", \"b\"], keys = { k = \"v\", l = \"env:TOKEN\" } }",
        );
        assert!(problems.is_empty(), "{problems:?}");
        assert_eq!(options.text("webhook_id"), Some("7"));
        assert_eq!(options.text("verify_token"), Some("hunter2"));
        assert_eq!(options.list("topic_arns"), ["a", "b"]);
        assert_eq!(options.table("keys").unwrap()["k"], "v");
        assert_eq!(options.table("keys").unwrap()["l"], "hunter2");
    }

    #[test]
    fn an_unknown_option_is_refused_with_the_nearest_and_a_missing_one_says_what_it_is() {
        let (_, problems) = read_from("options = { verify_tokn = \"x\" }");
        assert_eq!(
            problems,
            [
                "hapax.toml:1:13: sources.app.options: the provider `stripe` has no option `verify_tokn`; did you mean \
                 `verify_token`?",
                "hapax.toml: sources.app: `options.webhook_id` is missing; it is the webhook_id of the app",
            ]
        );
        let (_, problems) = read_from("options = { webhook_id = \"1\", zebra = 1 }");
        assert!(
            problems[0].ends_with("has no option `zebra`; remove it"),
            "{problems:?}"
        );
    }

    #[test]
    fn a_value_of_another_kind_is_refused_and_never_printed() {
        let (_, problems) = read_from(
            "options = { webhook_id = [\"hunter2\"], verify_token = [\"hunter2\"], topic_arns = \"hunter2\", keys = [1] }",
        );
        assert_eq!(problems.len(), 4, "{problems:?}");
        assert!(!problems.concat().contains("hunter2"));
        assert!(
            problems.iter().any(|problem| problem == "hapax.toml:1:39: sources.app.options.verify_token: expected a secret (\"env:NAME\", \"file:PATH\", \"exec:COMMAND\" or a literal), \
             found an array; it is the verify_token of the app"),
            "{problems:?}"
        );
    }
}
