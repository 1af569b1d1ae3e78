//! What a delivery did, in a form that can be compared with what another delivery of the same kind of event did.
//!
//! # How two effects are compared
//!
//! A snapshot is a set of lines. What a delivery did is the lines that went and the lines that came ([`Change`]). The ids
//! of the delivered event are replaced by a name, and times close to now are not looked at. Two deliveries of fresh events
//! made from one file should then do the same, except that counters stand at another height. So lines are grouped by
//! their *shape*, which is the line with every number left out. For each shape there are two kinds of quantity: how many
//! lines came more than went, and for each place of a number the sum of what came less the sum of what went. A counter that goes from
//! 100 to 120 and one that goes from 300 to 320 are both `+20`; two rows are twice one row.
//!
//! Some quantities differ between any two deliveries: row numbers, random keys. The [`Reference`] is made from two
//! deliveries, each made once: a quantity in which these two differ says nothing, and is not compared.

mod change;
mod line;
mod moment;
mod reference;

pub use change::Change;
pub(crate) use change::State;
pub(crate) use reference::{Difference, Reference};

use std::collections::BTreeMap;

use line::Token;

/// The quantities of each shape. What is zero may be absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Effect {
    shapes: BTreeMap<String, Quantity>,
}

/// What came, less what went, for the lines of one shape.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Quantity {
    lines: i128,
    columns: Vec<Column>,
}

/// One place of the shape that varies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Column {
    /// The sum of the numbers, in billionths.
    sum: i128,
    /// How often each word with digits in it came, less how often it went.
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
        // A word that came and went is as good as one that stayed.
        self.words.retain(|_, count| *count != 0);
    }
}
