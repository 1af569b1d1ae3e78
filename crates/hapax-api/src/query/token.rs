//! Splits text into terms: white space separates them, and quotes group.

use super::error::QueryError;

/// One term as it was typed, without its quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// The start of the term, in bytes.
    pub(super) at: usize,
    /// The key, if the term has one.
    pub(super) key: Option<String>,
    /// The rest of the term.
    pub(super) value: String,
}

/// Splits a query into its terms.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, QueryError> {
    let mut tokens = Vec::new();
    let mut rest = text.char_indices().peekable();
    while let Some(&(at, letter)) = rest.peek() {
        if letter.is_whitespace() {
            rest.next();
            continue;
        }
        tokens.push(token(at, &mut rest)?);
    }
    Ok(tokens)
}

fn token(at: usize, rest: &mut std::iter::Peekable<std::str::CharIndices<'_>>) -> Result<Token, QueryError> {
    let mut token = Token {
        at,
        key: None,
        value: String::new(),
    };
    // A term that begins with a quote has no key, even if it contains a colon.
    let mut may_be_key = true;
    while let Some((place, letter)) = rest.next_if(|(_, letter)| !letter.is_whitespace()) {
        match letter {
            '"' => {
                may_be_key = false;
                quoted(place, rest, &mut token.value)?;
            }
            ':' if may_be_key && !token.value.is_empty() => {
                token.key = Some(std::mem::take(&mut token.value));
                may_be_key = false;
            }
            other => token.value.push(other),
        }
    }
    Ok(token)
}

fn quoted(
    at: usize,
    rest: &mut std::iter::Peekable<std::str::CharIndices<'_>>,
    value: &mut String,
) -> Result<(), QueryError> {
    loop {
        match rest.next() {
            Some((_, '"')) => return Ok(()),
            Some((_, '\\')) => match rest.next() {
                Some((_, letter @ ('"' | '\\'))) => value.push(letter),
                Some((_, letter)) => value.extend(['\\', letter]),
                None => {
                    return Err(QueryError::new(at, "a quote is not closed; add `\"` at its end"));
                }
            },
            Some((_, letter)) => value.push(letter),
            None => {
                return Err(QueryError::new(at, "a quote is not closed; add `\"` at its end"));
            }
        }
    }
}
