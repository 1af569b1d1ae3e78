//! One SQL statement with named parameters: `update orders set status = 'paid' where id = :order`.
//!
//! Each name becomes a numbered parameter of the database. Values never become part of the SQL text.

use std::str::FromStr;

/// A statement, split at its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// The text before, between and after the parameters: one more than there are parameters.
    texts: Vec<String>,
    /// For each gap between texts, the index of the parameter's name.
    slots: Vec<usize>,
    names: Vec<String>,
}

/// Why Hapax cannot run a string as one statement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StatementError {
    #[error("the statement is empty")]
    Empty,
    /// A second statement follows a semicolon.
    #[error("a second statement follows the `;`: write each statement as a separate item of `statements`")]
    Several,
    /// The statement would end the transaction that makes the effect happen once.
    #[error("`{0}` is not allowed: all statements run in one transaction, which Hapax begins and commits")]
    Transaction(String),
    /// Hapax numbers the parameters itself.
    #[error("`{0}` is a numbered parameter: name it in `params`, and write `:name`")]
    Numbered(String),
    /// A quote, comment or bracket is not closed.
    #[error("{0} is not closed")]
    Unclosed(&'static str),
    /// The text contains a NUL byte, which no database accepts.
    #[error("it contains a NUL character")]
    Nul,
}

/// Words that begin, end or subdivide a transaction.
const TRANSACTION_WORDS: [&str; 10] = [
    "abort",
    "begin",
    "commit",
    "end",
    "prepare",
    "release",
    "rollback",
    "savepoint",
    "start",
    "attach",
];

impl Statement {
    /// The names of the parameters, each once, in the order of their numbers.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// With `$1`, `$2`, … for PostgreSQL.
    pub fn for_postgres(&self) -> String {
        self.numbered('$')
    }

    /// With `?1`, `?2`, … for SQLite.
    pub fn for_sqlite(&self) -> String {
        self.numbered('?')
    }

    /// The statement as written in the file.
    pub fn as_written(&self) -> String {
        self.joined(|slot| format!(":{}", self.names[slot]))
    }

    fn numbered(&self, sign: char) -> String {
        self.joined(|slot| format!("{sign}{}", slot + 1))
    }

    fn joined(&self, parameter: impl Fn(usize) -> String) -> String {
        let mut text = String::new();
        for (index, piece) in self.texts.iter().enumerate() {
            text.push_str(piece);
            if let Some(slot) = self.slots.get(index) {
                text.push_str(&parameter(*slot));
            }
        }
        text
    }
}

/// Whether a parameter can have this name.
pub(super) fn is_name(text: &str) -> bool {
    let mut characters = text.chars();
    let begins = |first: char| first.is_ascii_alphabetic() || first == '_';
    characters.next().is_some_and(begins) && characters.all(is_word)
}

fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

impl FromStr for Statement {
    type Err = StatementError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text
            .trim()
            .trim_end_matches(|end: char| end == ';' || end.is_whitespace());
        if text.contains('\0') {
            return Err(StatementError::Nul);
        }
        let mut reader = Reader::new(text);
        reader.read()?;
        let word = reader.first_word.to_ascii_lowercase();
        if word.is_empty() {
            return Err(StatementError::Empty);
        }
        if TRANSACTION_WORDS.contains(&word.as_str()) {
            return Err(StatementError::Transaction(word));
        }
        Ok(Self {
            texts: reader.texts,
            slots: reader.slots,
            names: reader.names,
        })
    }
}

/// Reads a statement in one pass and tracks quoting.
struct Reader<'t> {
    rest: &'t str,
    /// The character before `rest`, if it was not quoted.
    before: char,
    first_word: String,
    texts: Vec<String>,
    slots: Vec<usize>,
    names: Vec<String>,
}

impl<'t> Reader<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            rest: text,
            before: ' ',
            first_word: String::new(),
            texts: vec![String::new()],
            slots: Vec::new(),
            names: Vec::new(),
        }
    }

    fn read(&mut self) -> Result<(), StatementError> {
        while let Some(next) = self.rest.chars().next() {
            match next {
                '\'' if matches!(self.before, 'e' | 'E') => self.escaped()?,
                '\'' => self.quoted('\'', "a string in '…'")?,
                '"' => self.quoted('"', "a name in \"…\"")?,
                '`' => self.quoted('`', "a name in `…`")?,
                '-' if self.rest.starts_with("--") => {
                    self.take(self.rest.find('\n').unwrap_or(self.rest.len()));
                }
                '/' if self.rest.starts_with("/*") => self.comment()?,
                '$' => self.dollar()?,
                ':' if self.rest.starts_with("::") || self.rest.starts_with(":=") => self.take(2),
                ':' => self.parameter(),
                ';' => return Err(StatementError::Several),
                _ if is_word(next) => self.word(),
                _ => self.take(next.len_utf8()),
            }
        }
        Ok(())
    }

    /// Copies bytes to the current text.
    fn take(&mut self, count: usize) {
        let (taken, rest) = self.rest.split_at(count);
        self.before = taken.chars().next_back().unwrap_or(' ');
        if let Some(text) = self.texts.last_mut() {
            text.push_str(taken);
        }
        self.rest = rest;
    }

    fn word(&mut self) {
        let end = self
            .rest
            .find(|one: char| !is_word(one))
            .unwrap_or(self.rest.len());
        if self.first_word.is_empty() {
            self.rest[..end].clone_into(&mut self.first_word);
        }
        self.take(end);
        // Only a single `E` introduces a string with escapes (`E'…'`); in `table'…'` the string is an ordinary one.
        if end > 1 {
            self.before = '_';
        }
    }

    /// A doubled quote ends one string and begins the next, which has the same effect.
    fn quoted(&mut self, quote: char, what: &'static str) -> Result<(), StatementError> {
        let end = self.rest[1..].find(quote).ok_or(StatementError::Unclosed(what))?;
        self.take(end + 2);
        self.before = ' ';
        Ok(())
    }

    /// `E'…'`, in which a backslash escapes the next character.
    fn escaped(&mut self) -> Result<(), StatementError> {
        let mut protected = false;
        for (index, character) in self.rest.char_indices().skip(1) {
            match character {
                '\'' if !protected => {
                    self.take(index + 1);
                    // After a doubled quote, the string continues with the same rules.
                    self.before = if self.rest.starts_with('\'') { 'E' } else { ' ' };
                    return Ok(());
                }
                '\\' => protected = !protected,
                _ => protected = false,
            }
        }
        Err(StatementError::Unclosed("a string in E'…'"))
    }

    /// Comments nest in PostgreSQL. In other databases they do not, but there too a comment never contains a parameter.
    fn comment(&mut self) -> Result<(), StatementError> {
        let mut depth = 0_usize;
        let mut at = 0;
        while at < self.rest.len() {
            let here = &self.rest[at..];
            if here.starts_with("/*") {
                depth += 1;
                at += 2;
            } else if here.starts_with("*/") {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    self.take(at);
                    return Ok(());
                }
            } else {
                at += here.chars().next().map_or(1, char::len_utf8);
            }
        }
        Err(StatementError::Unclosed("a comment"))
    }

    /// `$tag$…$tag$` is a string. `$1` is refused, because Hapax numbers the parameters itself.
    fn dollar(&mut self) -> Result<(), StatementError> {
        let behind = &self.rest[1..];
        let end = behind.find(|one: char| !is_word(one)).unwrap_or(behind.len());
        let tag = &behind[..end];
        if behind[end..].starts_with('$') && !tag.starts_with(|one: char| one.is_ascii_digit()) {
            let fence = &self.rest[..end + 2];
            let close = self.rest[fence.len()..]
                .find(fence)
                .ok_or(StatementError::Unclosed("a string in $$…$$"))?;
            self.take(close + 2 * fence.len());
            self.before = ' ';
            return Ok(());
        }
        if tag.starts_with(|one: char| one.is_ascii_digit()) {
            return Err(StatementError::Numbered(format!("${tag}")));
        }
        self.take(1);
        Ok(())
    }

    fn parameter(&mut self) {
        let behind = &self.rest[1..];
        let end = behind.find(|one: char| !is_word(one)).unwrap_or(behind.len());
        let name = &behind[..end];
        // In `list[1:two]` the colon follows a word and does not begin a parameter.
        if !is_name(name) || is_word(self.before) {
            self.take(1);
            return;
        }
        let slot = self
            .names
            .iter()
            .position(|known| known == name)
            .unwrap_or_else(|| {
                self.names.push(name.to_owned());
                self.names.len() - 1
            });
        self.slots.push(slot);
        self.texts.push(String::new());
        self.rest = &behind[end..];
        self.before = '_';
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn postgres(text: &str) -> (String, Vec<String>) {
        let statement: Statement = text.parse().unwrap();
        assert_eq!(
            statement.as_written(),
            text.trim().trim_end_matches(';').trim_end()
        );
        (statement.for_postgres(), statement.names().to_vec())
    }

    #[test]
    fn a_name_becomes_a_number_and_the_same_name_the_same_number() {
        let (text, names) = postgres("update t set a = :amount, b = :amount + 1 where id = :order;");
        assert_eq!(text, "update t set a = $1, b = $1 + 1 where id = $2");
        assert_eq!(names, ["amount", "order"]);
        let statement: Statement = "select :a".parse().unwrap();
        assert_eq!(statement.for_sqlite(), "select ?1");
    }

    #[test]
    fn what_is_quoted_or_a_comment_is_left_alone() {
        for text in [
            "select ':a' from t",
            "select 'it''s :a'",
            "select E'\\':a' , 1",
            "select E'a'':a'",
            "select \":a\", `:b` from t",
            "select $$ :a $$, $tag$ $$ :b $tag$",
            "select 1 -- :a\n, 2",
            "select /* :a /* :b */ :c */ 1",
            "select x::text, y := 3",
            "select list[1:2], list[i:j]",
            "select '{\"a\": 1}'::jsonb ? 'a'",
            "select 'é:a'",
        ] {
            let (read, names) = postgres(text);
            assert_eq!((read.as_str(), names.len()), (text, 0), "{text}");
        }
        assert_eq!(
            postgres("select :a::bigint, 'x'||:b").0,
            "select $1::bigint, 'x'||$2"
        );
        assert_eq!(postgres("select 'x':a").0, "select 'x'$1");
        assert_eq!(
            postgres("insert into t values(:a,:b)").0,
            "insert into t values($1,$2)"
        );
    }

    #[test]
    fn what_hapax_cannot_run_is_refused_with_the_reason() {
        for (text, error) in [
            ("  ; ", StatementError::Empty),
            ("-- nothing", StatementError::Empty),
            ("select 1; select 2", StatementError::Several),
            ("Commit", StatementError::Transaction("commit".to_owned())),
            (
                "/* x */ ROLLBACK to a",
                StatementError::Transaction("rollback".to_owned()),
            ),
            ("select $1", StatementError::Numbered("$1".to_owned())),
            ("select 'a", StatementError::Unclosed("a string in '…'")),
            ("select $$a", StatementError::Unclosed("a string in $$…$$")),
            ("select /* a", StatementError::Unclosed("a comment")),
            ("select '\0'", StatementError::Nul),
        ] {
            assert_eq!(text.parse::<Statement>(), Err(error), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused_and_never_changed(text in "[ -~é\\n]{0,60}") {
            if let Ok(statement) = text.parse::<Statement>() {
                let expected = text.trim().trim_end_matches(|end: char| end == ';' || end.is_whitespace());
                proptest::prop_assert_eq!(statement.as_written(), expected);
            }
        }
    }
}
