//! Every `hapax …` of a shell snippet.

use clap::Parser as _;

use super::super::Cli;
use super::snippets;

/// What stands for an id in a page.
const ID: &str = "0199f3c1-8e4a-7cc3-98a1-0d5b1c3f7a10";

/// The words after each `hapax` that begins a command. `…` says that words are left out: such a command is not whole.
fn commands(line: &str) -> Vec<Vec<String>> {
    let words = shlex::split(line).unwrap_or_else(|| panic!("{line}"));
    let commands = words.split(|word| matches!(word.as_str(), "&&" | "||" | "|" | ";" | ">" | "<"));
    let commands = commands.filter_map(|words| {
        let start = words.iter().position(|word| word != "$" && !word.contains('='))?;
        let is_ours = words[start] == "hapax" && !words.iter().any(|word| word == "…");
        is_ours.then(|| words[start..].to_vec())
    });
    commands.collect()
}

fn is_placeholder(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_uppercase())
}

#[test]
fn every_command_of_a_guide_is_understood() {
    let mut checked = 0;
    for snippet in snippets(&["sh", "console"]) {
        let whole = snippet.text.replace("\\\n", " ");
        // In a console, what is not after a prompt was printed.
        let is_console = whole.contains("$ ");
        let lines = whole.lines().filter(|line| line.contains("hapax "));
        for line in lines.filter(|line| !is_console || line.trim_start().starts_with('$')) {
            for words in commands(line) {
                let words = words.into_iter();
                let words = words.map(|word| {
                    if is_placeholder(&word) {
                        ID.to_owned()
                    } else {
                        word
                    }
                });
                if let Err(error) = Cli::try_parse_from(words) {
                    panic!("{}: {line}\n{error}", snippet.place);
                }
                checked += 1;
            }
        }
    }
    assert!(checked > 50, "{checked}");
}
