//! Preset options on the command line: `--option NAME=VALUE`.

use std::str::FromStr;

use hapax_verify::catalogue::Provider;
use hapax_verify::{OptionKind, OptionSpec, OptionValue, Options};

use crate::exit::CliError;
use hapax_config::nearest;

/// One option as written. Its value may be a secret, so it is never shown.
#[derive(Clone)]
pub struct Given {
    name: String,
    value: String,
}

impl FromStr for Given {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| "it has no `=`; write NAME=VALUE".to_owned())?;
        Ok(Self {
            name: name.to_owned(),
            value: value.to_owned(),
        })
    }
}

impl std::fmt::Debug for Given {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Given").field(&self.name).finish()
    }
}

/// Replaces options with those that were given; a name that the preset does not accept is refused.
pub fn apply(
    mut options: Options,
    given: &[Given],
    provider: Option<&Provider>,
) -> Result<Options, CliError> {
    let specs = provider
        .map(|provider| provider.options.as_slice())
        .unwrap_or_default();
    for one in given {
        let spec = specs.iter().find(|spec| spec.name == one.name);
        let spec = spec.ok_or_else(|| unknown(&one.name, specs))?;
        options.set(one.name.clone(), value(spec.kind, &one.value));
    }
    Ok(options)
}

/// Lists are written `a,b` and tables `a=1,b=2`.
fn value(kind: OptionKind, text: &str) -> OptionValue {
    let items = || text.split(',').map(str::trim).filter(|item| !item.is_empty());
    match kind {
        OptionKind::Text | OptionKind::Secret => OptionValue::Text(text.to_owned()),
        OptionKind::List => OptionValue::List(items().map(str::to_owned).collect()),
        OptionKind::Table => OptionValue::Table(
            items()
                .filter_map(|item| item.split_once('='))
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
        ),
    }
}

fn unknown(name: &str, specs: &[OptionSpec]) -> CliError {
    let known: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
    let hint = match (nearest(name, known.iter().copied()), known.as_slice()) {
        (Some(near), _) => format!("did you mean `{near}`?"),
        (None, []) => "it has none".to_owned(),
        (None, known) => format!("it takes: {}", known.join(", ")),
    };
    CliError::usage(format!("this provider has no option `{name}`; {hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_tables_are_written_with_commas() {
        let list = Options::from_iter([("a", value(OptionKind::List, "x, y,"))]);
        assert_eq!(list.list("a"), ["x", "y"]);
        let table = Options::from_iter([("a", value(OptionKind::Table, "k=v=w,l=m"))]);
        let table = table.table("a").unwrap();
        assert_eq!((table["k"].as_str(), table["l"].as_str()), ("v=w", "m"));
    }

    #[test]
    fn an_option_that_the_preset_does_not_take_is_refused_and_its_value_is_not_shown() {
        let given: Given = "token=hunter2".parse().unwrap();
        assert!(!format!("{given:?}").contains("hunter2"));
        let error = apply(Options::default(), &[given], None).unwrap_err();
        let message = error.error.unwrap().to_string();
        assert!(
            message.contains("token") && !message.contains("hunter2"),
            "{message}"
        );
        assert!("token".parse::<Given>().is_err());
    }
}
