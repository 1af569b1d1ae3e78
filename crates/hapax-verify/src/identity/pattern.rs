//! A JSON pointer through arrays: `/entry/*/changes/*/field`, where each `*` stands for one element.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

use super::Pointer;
use crate::setup::FieldProblem;

/// Stands for each element of an array.
const EACH: &str = "*";

/// A pointer with wildcards for array elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    arrays: Vec<Pointer>,
    rest: Pointer,
}

impl Pattern {
    /// The pointer to the first element of every array.
    pub fn first(&self) -> Pointer {
        let mut tokens = Vec::new();
        for array in &self.arrays {
            tokens.extend_from_slice(array.tokens());
            tokens.push("0".to_owned());
        }
        tokens.extend_from_slice(self.rest.tokens());
        Pointer::of_tokens(tokens)
    }

    /// The pointers from one element to the array that contains the next, starting from the body.
    pub(super) fn arrays(&self) -> &[Pointer] {
        &self.arrays
    }

    /// The pointer inside the last element.
    pub(super) fn rest(&self) -> &Pointer {
        &self.rest
    }
}

impl FromStr for Pattern {
    type Err = FieldProblem;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let whole: Pointer = text.parse()?;
        let mut pieces: Vec<Pointer> = whole
            .tokens()
            .split(|token| token == EACH)
            .map(|tokens| Pointer::of_tokens(tokens.to_vec()))
            .collect();
        let rest = pieces.pop().ok_or(FieldProblem::Pointer)?;
        Ok(Pattern { arrays: pieces, rest })
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for array in &self.arrays {
            write!(formatter, "{array}/{EACH}")?;
        }
        self.rest.fmt(formatter)
    }
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_pattern_reads_back_as_itself() {
        for (text, arrays) in [
            ("/entry/*/changes/*/field", 2),
            ("/*", 1),
            ("/a/*", 1),
            ("/a~1b", 0),
        ] {
            let pattern: Pattern = text.parse().unwrap();
            assert_eq!(pattern.to_string(), text);
            assert_eq!(pattern.arrays().len(), arrays);
            assert_eq!(pattern.first().to_string(), text.replace('*', "0"));
        }
        assert!("entry/*".parse::<Pattern>().is_err());
    }
}
