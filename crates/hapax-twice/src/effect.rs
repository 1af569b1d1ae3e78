//! The effect of a delivery, in a form that can be compared with the effect of another delivery of the same kind of
//! event.
//!
//! # How two effects are compared
//!
//! A snapshot is a set of lines. The change made by a delivery is the lines removed and the lines added ([`Change`]).
//! The ids of the delivered event are replaced by a name, and times close to now are ignored. Two deliveries of fresh
//! events made from one file should then have the same effect, except that counters have different values. So lines are
//! grouped by their *shape*: the line with every number left out. For each shape there are two kinds of quantity: the
//! number of lines added minus the number removed, and for each position of a number the sum of the numbers added minus
//! the sum of those removed. A counter that goes from 100 to 120 and one that goes from 300 to 320 are both `+20`; two
//! rows are twice one row.
//!
//! Some quantities differ between any two deliveries, such as row numbers and random keys. The [`Reference`] is made
//! from two events, each delivered once: a quantity in which these two differ is not compared.

mod change;
mod line;
mod moment;
mod reference;

pub use change::Change;
pub(crate) use change::State;
pub(crate) use reference::{Difference, Reference};

use std::collections::BTreeMap;

use line::Token;

/// The quantities of each shape. Zero quantities may be absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Effect {
    shapes: BTreeMap<String, Quantity>,
}

/// Lines added minus lines removed, for one shape.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Quantity {
    lines: i128,
    columns: Vec<Column>,
}

/// One variable position of the shape.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Column {
    /// The sum of the numbers, in billionths.
    sum: i128,
    /// For each word with digits: how often it was added minus how often it was removed.
    words: BTreeMap<String, i128>,
}

impl Effect {
    /// Measures a change.
    pub(crate) fn of(change: &Change) -> Self {
        let mut effect = Self::default();
        for line in &change.removed {
            effect.add(line, -1);
        }
        for line in &change.added {
            effect.add(line, 1);
        }
        effect
    }

    fn add(&mut self, line: &str, sign: i128) {
        let (shape, tokens) = line::read(line);
        let quantity = self.shapes.entry(shape).or_default();
        quantity.lines += sign;
        quantity.columns.resize_with(tokens.len(), Column::default);
        for (column, token) in quantity.columns.iter_mut().zip(tokens) {
            match token {
                Token::Number(billionths) => column.sum += sign * billionths,
                Token::Word(word) => column.add_word(word, sign),
            }
        }
    }
}

impl Column {
    fn add_word(&mut self, word: String, sign: i128) {
        let count = self.words.entry(word).or_default();
        *count += sign;
        // A word that was added and removed counts as unchanged.
        self.words.retain(|_, count| *count != 0);
    }
}
