//! `env`: which environment variables a command inherits. This process's environment holds every secret, so all other
//! variables are withheld.

use std::collections::BTreeSet;

use hapax_core::Secret;

use super::environment::{Environment, NoVariable};
use super::report::Report;
use super::section::Section;
use super::setting::Key;

/// By default, what programs need to find other programs and to use this machine's locale and time zone.
pub(super) static ENV: Key<Vec<String>> = Key::with_default(
    "env",
    "[\"PATH\", \"HOME\", \"LANG\", \"LC_ALL\", \"TZ\", \"TMPDIR\"]",
    "Which variables of the environment the program is given; it has no others but those that tell it what happened (`HAPAX_…`, `TRACEPARENT`). Variables that this file reads as secrets are refused.",
)
.only(&["command"]);

/// The prefix of the variables that Hapax sets for a command, and of its own settings.
const OURS: &str = "HAPAX_";
const LIST_MAX: usize = 256;

/// The variables that a command inherits, in addition to those that describe the event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandEnv {
    names: Vec<String>,
    /// The variables that are set.
    values: Vec<(String, Secret)>,
}

impl CommandEnv {
    /// The variables that a command inherits by default.
    pub fn usual(environment: &Environment) -> Self {
        let names = ENV.default_value();
        let value = |name: &String| Some((name.clone(), Secret::new(environment.get(name).ok()?)));
        Self {
            values: names.iter().filter_map(value).collect(),
            names,
        }
    }

    pub fn names(&self) -> &[String] {
        &self.names
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values
            .iter()
            .map(|(name, value)| (name.as_str(), value.expose()))
    }
}

pub(super) fn read(section: &mut Section<'_, '_, '_>) -> CommandEnv {
    let Some(texts) = section.texts(&ENV) else {
        let usual = CommandEnv::usual(section.report.environment());
        section.show(&ENV, usual.names.clone());
        return usual;
    };
    if texts.len() > LIST_MAX {
        section.problem(&ENV, format_args!("at most {LIST_MAX} variables"));
    }
    let mut values = Vec::new();
    for (path, name) in &texts {
        if let Err(why) = check_name(name) {
            section.report.problem(path, why);
            continue;
        }
        match section.report.environment().get(name) {
            Ok(value) => values.push((name.clone(), Secret::new(value))),
            Err(NoVariable::NotSet) => section.report.warn(
                path,
                format_args!("{name} is not set, so the command starts without it"),
            ),
            Err(NoVariable::NotUtf8) => section
                .report
                .problem(path, format_args!("the value of {name} is not UTF-8")),
        }
    }
    CommandEnv {
        names: texts.into_iter().map(|(_, name)| name).collect(),
        values,
    }
}

fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() || name.contains(['=', '\0']) {
        return Err("write the name of a variable, such as \"PATH\"".to_owned());
    }
    if name.starts_with(OURS) {
        return Err(format!(
            "{OURS}… is reserved for the variables that describe the event and for Hapax's own settings, which no \
             command inherits; remove it"
        ));
    }
    Ok(())
}

/// Reports variables of a command that hold secrets of this configuration. `path` is the command's table.
pub(super) fn check(path: &str, env: &CommandEnv, report: &mut Report<'_>) {
    let secrets: BTreeSet<String> = report.origins.secret_variables().map(ToOwned::to_owned).collect();
    for (index, name) in env
        .names
        .iter()
        .enumerate()
        .filter(|(_, name)| secrets.contains(*name))
    {
        report.problem(
            &format!("{path}.env.{index}"),
            format_args!(
                "{name} is a secret of Hapax: this file reads it as \"env:{name}\"; set a separate variable for the \
                 command"
            ),
        );
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::{Environment, Kind, parse};

    const VARIABLES: [(&str, &str); 5] = [
        ("PATH", "/bin"),
        ("TZ", "UTC"),
        ("APP_MODE", "test"),
        ("STRIPE_SECRET", "whsec_hunter2"),
        ("HAPAX_ADMIN_TOKEN", "hunter2-hunter2-hunter2"),
    ];

    fn read(env: &str) -> Result<Vec<(String, String)>, String> {
        let text = format!(
            "[sources.stripe]\nprovider = \"stripe\"\nsecrets = [\"env:STRIPE_SECRET\"]\ndeliver_to = [\"script\"]\n\
             [destinations.script]\nkind = \"command\"\ncommand = [\"true\"]\n{env}\n"
        );
        let environment = Environment::with(VARIABLES);
        let config =
            parse(&text, Path::new("hapax.toml"), &environment, &[]).map_err(|error| error.to_string())?;
        let Kind::Command(command) = &config.destinations["script"].kind else {
            return Err("no command".to_owned());
        };
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        Ok(command.env.iter().map(owned).collect())
    }

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn a_command_gets_what_is_listed_and_set_and_nothing_else() {
        assert_eq!(read("").unwrap(), [pair("PATH", "/bin"), pair("TZ", "UTC")]);
        let listed = read("env = [\"APP_MODE\", \"NOT_SET\"]").unwrap();
        assert_eq!(listed, [pair("APP_MODE", "test")]);
        assert_eq!(read("env = []").unwrap(), []);
    }

    #[test]
    fn no_secret_of_ours_can_be_listed() {
        for name in ["STRIPE_SECRET", "HAPAX_ADMIN_TOKEN", "", "A=B"] {
            let error = read(&format!("env = [\"{name}\"]")).unwrap_err();
            assert!(error.contains("destinations.script.env.0"), "{error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
