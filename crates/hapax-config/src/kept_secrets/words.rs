//! Splits a command into words as a shell would. No shell is involved, so other shell features (variables, pipes,
//! redirection) are refused instead of silently ignored.

/// Why a string is not a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WordsError {
    #[error(
        "`exec:` names no command: write \"exec:COMMAND\", such as \"exec:vault kv get -field=secret kv/stripe\""
    )]
    Empty,
    /// A quote is not closed.
    #[error("a quote in the command is not closed")]
    Open,
    /// Syntax that only a shell understands.
    #[error(
        "the command contains `{0}`, but it is not run by a shell; put the text in single quotes, or write \"exec:sh \
         -c '…'\""
    )]
    Shell(char),
}

/// Characters that have a special meaning in a shell.
const SPECIAL: &str = "$`|&;<>()*?~#\n";

/// The program and its arguments; at least one word.
pub(super) fn split(text: &str) -> Result<Vec<String>, WordsError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        match character {
            ' ' | '\t' => words.extend(word.take()),
            '\'' => single_quoted(&mut rest, word.get_or_insert_default())?,
            '"' => double_quoted(&mut rest, word.get_or_insert_default())?,
            '\\' => word
                .get_or_insert_default()
                .push(rest.next().ok_or(WordsError::Open)?),
            special if SPECIAL.contains(special) => return Err(WordsError::Shell(special)),
            plain => word.get_or_insert_default().push(plain),
        }
    }
    words.extend(word);
    if words.first().is_none_or(String::is_empty) {
        return Err(WordsError::Empty);
    }
    Ok(words)
}

fn single_quoted(rest: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), WordsError> {
    loop {
        match rest.next().ok_or(WordsError::Open)? {
            '\'' => return Ok(()),
            character => word.push(character),
        }
    }
}

fn double_quoted(rest: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), WordsError> {
    loop {
        match rest.next().ok_or(WordsError::Open)? {
            '"' => return Ok(()),
            '\\' => match rest.next().ok_or(WordsError::Open)? {
                escaped @ ('"' | '\\' | '$' | '`') => word.push(escaped),
                plain => word.extend(['\\', plain]),
            },
            special @ ('$' | '`') => return Err(WordsError::Shell(special)),
            character => word.push(character),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_a_shell() {
        for (text, words) in [
            ("vault", &["vault"][..]),
            (
                "  vault kv  get -field=secret kv/stripe ",
                &["vault", "kv", "get", "-field=secret", "kv/stripe"],
            ),
            (
                "sops -d --extract '[\"a b\"]' f",
                &["sops", "-d", "--extract", "[\"a b\"]", "f"],
            ),
            (r#"a "b \"c\" \d" 'e'"f"g"#, &["a", r#"b "c" \d"#, "efg"]),
            (r"a b\ c \$d ''", &["a", "b c", "$d", ""]),
            (
                "sh -c 'pass show x | head -n 1'",
                &["sh", "-c", "pass show x | head -n 1"],
            ),
        ] {
            assert_eq!(split(text).unwrap(), words, "{text}");
        }
    }

    #[test]
    fn what_only_a_shell_could_do_is_refused() {
        for (text, special) in [
            ("pass show x | head", '|'),
            ("echo $TOKEN", '$'),
            ("echo \"$TOKEN\"", '$'),
            ("echo `id`", '`'),
            ("a; b", ';'),
            ("a && b", '&'),
            ("cat < file", '<'),
            ("cat ~/file", '~'),
            ("cat *.key", '*'),
        ] {
            assert_eq!(split(text), Err(WordsError::Shell(special)), "{text}");
        }
        for text in ["a 'b", "a \"b", "a \\", "a \"b\\"] {
            assert_eq!(split(text), Err(WordsError::Open), "{text}");
        }
        for text in ["", "  ", "''"] {
            assert_eq!(split(text), Err(WordsError::Empty), "{text}");
        }
    }
}
