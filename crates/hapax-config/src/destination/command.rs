//! The keys of a `command` destination: a program, and the variables that it inherits.

use super::{KindName, KindSettings};
use crate::Config;
pub(super) use crate::command_env::ENV;
use crate::command_env::{self, CommandEnv};
use crate::report::Report;
use crate::section::Section;
use crate::setting::Key;

pub(super) static COMMAND: Key<Vec<String>> = Key::required(
    "command",
    "The program and its arguments; no shell. The body is on stdin, exit 0 means done.",
)
.only(&["command"])
.local();

/// The most arguments, the program included.
const LIST_MAX: usize = 256;

/// A program that is run.
#[derive(Clone, Debug)]
pub struct Command {
    /// The program and its arguments; at least one element.
    pub argv: Vec<String>,
    /// The environment variables passed to it.
    pub env: CommandEnv,
}

/// The keys as written in the file. They are read for every kind of destination.
pub(super) struct Keys {
    command: Option<Vec<(String, String)>>,
    env: CommandEnv,
}

impl Keys {
    pub(super) fn read(section: &mut Section<'_, '_, '_>) -> Self {
        Self {
            command: section.texts(&COMMAND),
            env: command_env::read(section),
        }
    }

    /// The destination that the keys describe.
    pub(super) fn mean(self, section: &mut Section<'_, '_, '_>) -> Option<Command> {
        if !section.has(&COMMAND) {
            section.missing(
                &COMMAND,
                "a command destination needs it, such as [\"./on-event.sh\"]",
            );
        }
        let argv = argv(section, &COMMAND, self.command)?;
        Some(Command { argv, env: self.env })
    }
}

impl KindSettings for Command {
    fn name(&self) -> KindName {
        KindName::Command
    }

    /// Arguments can be secrets; the program is not.
    fn target(&self) -> String {
        self.argv.first().cloned().unwrap_or_default()
    }

    fn check(&self, name: &str, _config: &Config, report: &mut Report<'_>) {
        command_env::check(&format!("destinations.{name}"), &self.env, report);
    }
}

/// A program and its arguments.
pub(crate) fn argv(
    section: &mut Section<'_, '_, '_>,
    key: &'static Key<Vec<String>>,
    command: Option<Vec<(String, String)>>,
) -> Option<Vec<String>> {
    let argv: Vec<String> = command?.into_iter().map(|(_, argument)| argument).collect();
    let usable = argv.first().is_some_and(|program| !program.is_empty())
        && argv.len() <= LIST_MAX
        && !argv.iter().any(|argument| argument.contains('\0'));
    if !usable {
        section.problem(
            key,
            format_args!(
                "expected a program and at most {} arguments, such as [\"./on-event.sh\"]",
                LIST_MAX - 1
            ),
        );
        return None;
    }
    Some(argv)
}
