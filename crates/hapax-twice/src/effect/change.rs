//! A snapshot as a set of lines, and the changes from one to the next.

use std::collections::BTreeMap;
use std::time::SystemTime;

use serde::Serialize;

use super::moment;

/// The contents of a snapshot: each line, and how often it occurs. The order is ignored, because a query without `order
/// by` has none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct State {
    lines: BTreeMap<String, u32>,
}

/// The lines removed and added between two snapshots.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Lines that are no longer there.
    pub removed: Vec<String>,
    /// Lines that were not there before.
    pub added: Vec<String>,
}

impl State {
    /// Reads a snapshot. Times close to now are masked, because they differ in every run.
    pub(crate) fn read(text: &str) -> Self {
        let now = SystemTime::now();
        let mut lines = BTreeMap::new();
        for line in text.lines().map(str::trim_end).filter(|line| !line.is_empty()) {
            *lines.entry(moment::blot(line, now)).or_default() += 1;
        }
        Self { lines }
    }

    /// The changes in `after`. Each string in `names` is replaced by its name.
    pub(crate) fn change_to(&self, after: &Self, names: &[(String, String)]) -> Change {
        Change {
            removed: self.beyond(after, names),
            added: after.beyond(self, names),
        }
    }

    /// The lines that occur here more often than in `other`.
    fn beyond(&self, other: &Self, names: &[(String, String)]) -> Vec<String> {
        let more = self.lines.iter().flat_map(|(line, count)| {
            let there = other.lines.get(line).copied().unwrap_or_default();
            std::iter::repeat_n(named(line, names), count.saturating_sub(there) as usize)
        });
        more.collect()
    }
}

impl Change {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.added.is_empty()
    }
}

fn named(line: &str, names: &[(String, String)]) -> String {
    names
        .iter()
        .fold(line.to_owned(), |line, (text, name)| line.replace(text, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_lines_and_the_time_of_day_are_no_change() {
        let seconds = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap()
            .as_secs();
        let before = State::read(&format!("a|{seconds}\nb|1\n"));
        let after = State::read(&format!("b|1\na|{}\n", seconds + 7));
        assert!(before.change_to(&after, &[]).is_empty());
    }

    #[test]
    fn a_line_that_comes_a_second_time_is_a_change() {
        let (before, after) = (State::read("paid"), State::read("paid\npaid"));
        let change = before.change_to(&after, &[]);
        assert_eq!((change.removed.len(), change.added), (0, vec!["paid".to_owned()]));
    }

    #[test]
    fn the_events_id_is_replaced_by_its_name() {
        let names = [("evt_1".to_owned(), "<id>".to_owned())];
        let change = State::read("").change_to(&State::read("evt_1|5"), &names);
        assert_eq!(change.added, ["<id>|5"]);
    }
}
