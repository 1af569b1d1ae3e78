//! The reference of every verb and flag, from the command tree itself.

use std::fmt::Write as _;

use clap::{Arg, Command, CommandFactory as _};

use crate::verbs::Cli;

pub(super) fn page() -> String {
    let mut command = Cli::command();
    // Fills in the full names and passes the global flags down.
    command.build();
    let mut page = super::heading("Commands", "cli");
    let _ = write!(
        page,
        "\n{}\n",
        styled(command.get_long_about().or(command.get_about()))
    );
    push_examples(&mut page, &command);
    page.push_str("\n## Global options\n\n");
    for argument in command
        .get_arguments()
        .filter(|argument| argument.is_global_set())
    {
        push_argument(&mut page, argument);
    }
    for verb in visible(&command) {
        push_verb(&mut page, verb, 2);
    }
    page
}

fn push_verb(page: &mut String, verb: &Command, level: usize) {
    let name = verb.get_bin_name().unwrap_or_else(|| verb.get_name());
    let _ = write!(page, "\n{} `{name}`\n\n", "#".repeat(level));
    let _ = writeln!(page, "{}", styled(verb.get_long_about().or(verb.get_about())));
    let own: Vec<&Arg> = verb
        .get_arguments()
        .filter(|argument| !argument.is_global_set() && !argument.is_hide_set())
        .filter(|argument| !matches!(argument.get_id().as_str(), "help" | "version"))
        .collect();
    if !own.is_empty() {
        page.push('\n');
    }
    for argument in own {
        push_argument(page, argument);
    }
    push_examples(page, verb);
    for inner in visible(verb) {
        push_verb(page, inner, level + 1);
    }
}

fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command
        .get_subcommands()
        .filter(|verb| !verb.is_hide_set() && verb.get_name() != "help")
}

fn push_argument(page: &mut String, argument: &Arg) {
    let mut names: Vec<String> = Vec::new();
    names.extend(argument.get_short().map(|short| format!("-{short}")));
    names.extend(argument.get_long().map(|long| format!("--{long}")));
    let takes_value = argument.get_action().takes_values();
    let value = argument.get_value_names().filter(|_| takes_value).map(|values| {
        values
            .iter()
            .map(clap::builder::Str::as_str)
            .collect::<Vec<_>>()
            .join(" ")
    });
    let shown = [names.join(", "), value.unwrap_or_default()].join(" ");
    let _ = write!(page, "- `{}`: {}", shown.trim(), styled(argument.get_help()));
    let possible: Vec<String> = argument
        .get_possible_values()
        .iter()
        .filter(|_| takes_value && !argument.is_hide_possible_values_set())
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if !possible.is_empty() {
        let _ = write!(page, " (one of {})", possible.join(", "));
    }
    let defaults: Vec<String> = argument
        .get_default_values()
        .iter()
        .map(|value| value.to_string_lossy().into_owned())
        .collect();
    if takes_value && !defaults.is_empty() {
        let _ = write!(page, "; default `{}`", defaults.join(","));
    }
    if let Some(variable) = argument.get_env() {
        let _ = write!(page, "; variable `{}`", variable.to_string_lossy());
    }
    page.push('\n');
}

fn push_examples(page: &mut String, command: &Command) {
    if let Some(examples) = command.get_after_help() {
        let _ = write!(page, "\n```text\n{examples}\n```\n");
    }
}

fn styled(text: Option<&clap::builder::StyledStr>) -> String {
    text.map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_verb_is_on_the_page_and_hidden_ones_are_not() {
        let page = super::page();
        for verb in [
            "hapax serve",
            "hapax events list",
            "hapax dead discard",
            "hapax config check",
        ] {
            assert!(page.contains(&format!("# `{verb}`")), "{verb}");
        }
        assert!(!page.contains("# `hapax reference"));
        assert!(page.contains("`--forward URL`"));
    }
}
