//! The effect of a single delivery, learned from two of them, and how another effect differs from it.

use std::collections::BTreeSet;

use super::{Change, Column, Effect, Quantity};

/// The effect of a single delivery.
#[derive(Debug, Clone)]
pub(crate) struct Reference {
    first: Effect,
    second: Effect,
    /// The change made by the second of the two, for display.
    pub(crate) change: Change,
}

/// How an effect differs from that of a single delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Difference {
    /// There is more of it.
    More,
    /// There is less of it, or none.
    Less,
    /// It is different.
    Other,
}

impl Reference {
    /// Learns from two changes. `None` if they have different shapes, so that there is nothing to compare with.
    pub(crate) fn learn(first: &Change, second: Change) -> Option<Self> {
        let reference = Self {
            first: Effect::of(first),
            second: Effect::of(&second),
            change: second,
        };
        let steady = reference
            .shapes(&Effect::default())
            .into_iter()
            .all(|shape| reference.first.quantity(shape).lines == reference.second.quantity(shape).lines);
        steady.then_some(reference)
    }

    /// Whether a single delivery changes nothing visible.
    pub(crate) fn is_blind(&self) -> bool {
        self.change.is_empty()
    }

    /// How a change differs from that of a single delivery; `None` if it does not.
    pub(crate) fn difference(&self, change: &Change) -> Option<Difference> {
        let effect = Effect::of(change);
        let mut found = BTreeSet::new();
        for shape in self.shapes(&effect) {
            let (first, second) = (self.first.quantity(shape), self.second.quantity(shape));
            let actual = effect.quantity(shape);
            found.extend(differs(first.lines, actual.lines));
            found.extend(columns(&first, &second, &actual));
        }
        match found.len() {
            0 => None,
            1 => found.pop_first(),
            _ => Some(Difference::Other),
        }
    }

    fn shapes<'a>(&'a self, effect: &'a Effect) -> BTreeSet<&'a str> {
        let all = self.first.shapes.keys().chain(self.second.shapes.keys());
        all.chain(effect.shapes.keys()).map(String::as_str).collect()
    }
}

impl Effect {
    fn quantity(&self, shape: &str) -> Quantity {
        self.shapes.get(shape).cloned().unwrap_or_default()
    }
}

/// The differences in the positions on which the two deliveries of the reference agree.
fn columns(first: &Quantity, second: &Quantity, actual: &Quantity) -> BTreeSet<Difference> {
    let none = Column::default();
    let count = first
        .columns
        .len()
        .max(second.columns.len())
        .max(actual.columns.len());
    let mut found = BTreeSet::new();
    for at in 0..count {
        let [first, second, actual] =
            [first, second, actual].map(|quantity| quantity.columns.get(at).unwrap_or(&none));
        if first.sum == second.sum {
            found.extend(differs(first.sum, actual.sum));
        }
        if first.words == second.words && first.words != actual.words {
            found.insert(Difference::Other);
        }
    }
    found
}

fn differs(expected: i128, actual: i128) -> Option<Difference> {
    if actual == expected {
        return None;
    }
    let more = expected.signum() == actual.signum() && actual.abs() > expected.abs();
    let less = actual == 0 || (expected.signum() == actual.signum() && actual.abs() < expected.abs());
    match (more, less) {
        (true, _) => Some(Difference::More),
        (false, true) => Some(Difference::Less),
        (false, false) => Some(Difference::Other),
    }
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    fn change(before: &str, after: &str) -> Change {
        State::read(before).change_to(&State::read(after), &[])
    }

    /// A balance that grows by 20, and a row with a number and a random key.
    fn reference() -> Reference {
        Reference::learn(
            &change("balance|0", "balance|20\nrow|1|a7f3|<id>|20"),
            change("balance|20", "balance|40\nrow|2|c9e1|<id>|20"),
        )
        .unwrap()
    }

    #[test]
    fn a_counter_at_another_height_and_another_row_number_are_the_same_effect() {
        let once = change("balance|140", "balance|160\nrow|9|b2d5|<id>|20");
        assert_eq!(reference().difference(&once), None);
    }

    #[test]
    fn an_effect_that_happened_twice_is_more() {
        let twice = change(
            "balance|140",
            "balance|180\nrow|9|b2d5|<id>|20\nrow|10|e4|<id>|20",
        );
        assert_eq!(reference().difference(&twice), Some(Difference::More));
        let half_twice = change("balance|140", "balance|180\nrow|9|b2d5|<id>|20");
        assert_eq!(reference().difference(&half_twice), Some(Difference::More));
    }

    #[test]
    fn an_effect_that_is_missing_or_halved_is_less() {
        assert_eq!(reference().difference(&Change::default()), Some(Difference::Less));
        let half = change("balance|140", "balance|140\nrow|9|b2d5|<id>|20");
        assert_eq!(reference().difference(&half), Some(Difference::Less));
    }

    #[test]
    fn another_kind_of_line_is_something_else() {
        let other = change("balance|140", "balance|160\nerror|9|b2d5|<id>|20");
        assert_eq!(reference().difference(&other), Some(Difference::Other));
    }

    #[test]
    fn two_deliveries_that_do_different_things_teach_nothing() {
        assert!(Reference::learn(&change("", "created"), change("", "updated")).is_none());
    }
}
