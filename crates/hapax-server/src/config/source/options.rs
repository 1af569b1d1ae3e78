//! `options`: what a preset needs besides its secrets, checked against what the preset says it takes.

use hapax_core::Secret;
use hapax_verify::catalogue::Provider;
use hapax_verify::{OptionKind, OptionSpec, OptionValue, Options};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::config::nearest::suggestion;
use crate::config::section::{Section, article};

/// The options of a source. What cannot be used is reported and left out.
pub(super) fn read(section: &mut Section<'_, '_, '_>, provider: Option<&Provider>) -> Options {
    let specs = provider.map_or(&[][..], |provider| &provider.options);
    let value = section.table("options");
    let table = value.and_then(|value| value.get_ref().as_table());
    let mut options = Options::default();
    for (key, value) in table.into_iter().flatten() {
        let name: &str = key.get_ref();
        let path = section.path(&format!("options.{name}"));
        let place = section.report.place_of(&key.span());
        match specs.iter().find(|spec| spec.name == name) {
            None => {
                let message = unknown(name, provider);
                section.report.problem_at(place, format!("{}: {message}", section.path("options")));
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
    options
}

fn unknown(name: &str, provider: Option<&Provider>) -> String {
    let Some(provider) = provider else {
        return format!("a source without a preset takes no option `{name}`; remove it");
    };
    let known = provider.options.iter().map(|spec| spec.name.as_str());
    let meant = match suggestion(name, known) {
        meant if meant.is_empty() => "; remove it".to_owned(),
        meant => meant,
    };
    format!("the preset `{}` takes no option `{name}`{meant}", provider.name)
}

fn report_missing(section: &mut Section<'_, '_, '_>, specs: &[OptionSpec], table: Option<&DeTable<'_>>) {
    let is_written = |spec: &OptionSpec| {
        let mut names = table.into_iter().flatten().map(|(key, _)| key.get_ref());
        names.any(|name| *name == spec.name)
    };
    for spec in specs.iter().filter(|spec| spec.required && !is_written(spec)) {
        section.missing(&format!("options.{}", spec.name), &spec.about);
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
        (OptionKind::Table, DeValue::Table(table)) => {
            let texts = table
                .iter()
                .map(|(key, item)| Some((key.get_ref().to_string(), scalar(item.get_ref())?)));
            texts.collect::<Option<_>>().map(OptionValue::Table)
        }
        (OptionKind::Secret | OptionKind::List | OptionKind::Table, _) => None,
    };
    if read.is_none() {
        let (expected, found) = (shape(spec.kind), article(value.get_ref()));
        // The value is not printed: it might be meant as a secret.
        section
            .report
            .problem(path, format_args!("expected {expected}, found {found}; {}", spec.about));
    }
    read
}

/// A text, or what is written without quotes and means one.
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
        OptionKind::Text => "a text that is not empty",
        OptionKind::Secret => "a secret (\"env:NAME\", \"file:PATH\" or a literal)",
        OptionKind::List => "a list of texts",
        OptionKind::Table => "a table of texts",
    }
}
