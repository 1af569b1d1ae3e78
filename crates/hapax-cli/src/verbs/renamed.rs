//! Adds a tip with the current name when a command line uses a name from an earlier version.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, Error};

use hapax_api::renamed::{Kind, RENAMED, renamed};

/// The error, with a tip if the refused word is an old name.
pub(super) fn with_hint(mut error: Error, arguments: impl Iterator<Item = String>) -> Error {
    if let Some((old, new)) = old_name(&error, &arguments.collect::<Vec<_>>()) {
        let tip = StyledStr::from(format!("`{old}` is now `{new}`"));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
    error
}

fn old_name(error: &Error, arguments: &[String]) -> Option<(&'static str, &'static str)> {
    let refused = |kind| match error.get(kind) {
        Some(ContextValue::String(word)) => Some(word.as_str()),
        _ => None,
    };
    if let Some(flag) = refused(ContextKind::InvalidArg) {
        let (_, old, _) = RENAMED
            .iter()
            .find(|(kind, old, _)| *kind == Kind::Flag && *old == flag)?;
        return Some((old, renamed(Kind::Flag, old)?));
    }
    refused(ContextKind::InvalidSubcommand)?;
    RENAMED.iter().find_map(|(kind, old, new)| {
        let words: Vec<&str> = old.split(' ').collect();
        let is_used = arguments.windows(words.len()).any(|given| given == words);
        (*kind == Kind::Command && is_used).then_some((*old, *new))
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::super::Cli;
    use super::*;

    #[test]
    fn every_old_command_and_flag_is_refused_with_its_new_name() {
        for (kind, old, new) in RENAMED {
            let line: Vec<&str> = match (kind, *old) {
                (Kind::Command, old) => old.split(' ').collect(),
                (Kind::Flag, "--copies") => vec!["demo", old, "2"],
                (Kind::Flag, "--over") => vec!["stats", old, "1h"],
                (Kind::Flag, "--view") => vec!["events", "list", old, "mine"],
                (Kind::Flag, other) => panic!("name a command that had {other}"),
                _ => continue,
            };
            let line: Vec<String> = ["hapax"].iter().chain(&line).map(ToString::to_string).collect();
            let error = Cli::try_parse_from(&line).expect_err(old);
            let text = with_hint(error, line.into_iter()).to_string();
            assert!(text.contains(&format!("tip: `{old}` is now `{new}`")), "{text}");
        }
    }

    #[test]
    fn other_mistakes_get_no_such_tip() {
        let line = ["hapax", "events", "lst"].map(str::to_owned);
        let error = Cli::try_parse_from(&line).expect_err("no such verb");
        let text = with_hint(error, line.into_iter()).to_string();
        assert!(!text.contains("is now"), "{text}");
    }
}
