//! The ids with the most duplicates, in a bounded table.
//!
//! A space-saving count: a new id replaces the rarest one and inherits its count. A flood of ids therefore stays
//! bounded, and an id with more than one in [`Redelivered::IDS_MAX`] of the duplicates is always kept. Counts are never
//! too low but may be too high: before showing one, ask the store for the exact figure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Ids with duplicates, and the upper bound of their number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Redelivered(BTreeMap<String, u64>);

impl Redelivered {
    /// The maximum number of ids kept.
    pub const IDS_MAX: usize = 16;
    /// Longer ids are not kept; no source accepts a longer one.
    pub const ID_BYTES_MAX: usize = 255;

    /// Counts a duplicate of an id.
    pub fn count(&mut self, event_id: &str) {
        if let Some(count) = self.0.get_mut(event_id) {
            *count += 1;
        } else if event_id.len() <= Self::ID_BYTES_MAX {
            let inherited = self.make_room();
            self.0.insert(event_id.to_owned(), inherited + 1);
        }
    }

    /// Adds the counts of `other`, and keeps the largest.
    pub fn add(&mut self, other: &Self) {
        for (event_id, count) in &other.0 {
            *self.0.entry(event_id.clone()).or_default() += count;
        }
        while self.0.len() > Self::IDS_MAX {
            self.drop_rarest();
        }
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Every id kept, with its number of duplicates.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(event_id, count)| (event_id.as_str(), *count))
    }

    /// Makes room for one more id; returns the count that it inherits.
    fn make_room(&mut self) -> u64 {
        if self.0.len() < Self::IDS_MAX {
            return 0;
        }
        self.drop_rarest()
    }

    fn drop_rarest(&mut self) -> u64 {
        let rarest = self.0.iter().min_by_key(|(_, count)| **count);
        let rarest = rarest.map(|(event_id, _)| event_id.clone());
        rarest.and_then(|event_id| self.0.remove(&event_id)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_ids_stays_bounded_and_does_not_hide_the_one_that_comes_most() {
        let mut redelivered = Redelivered::default();
        for number in 0..10_000 {
            redelivered.count(&format!("evt_{number}"));
            if number % 5 == 0 {
                redelivered.count("evt_storm");
            }
        }
        assert_eq!(redelivered.iter().count(), Redelivered::IDS_MAX);
        let storm = redelivered.iter().find(|(event_id, _)| *event_id == "evt_storm");
        let (_, count) = storm.expect("an id with a sixth of all duplicates is kept");
        assert!(count >= 2_000, "{count}");
    }

    #[test]
    fn tables_of_two_processes_add_up_to_a_table_that_is_no_larger() {
        let (mut one, mut other) = (Redelivered::default(), Redelivered::default());
        for number in 0..Redelivered::IDS_MAX {
            one.count(&format!("a{number}"));
            other.count(&format!("b{number}"));
        }
        one.count("a0");
        other.count("b0");
        other.add(&one);
        assert_eq!(other.iter().count(), Redelivered::IDS_MAX);
        let kept: Vec<_> = other.iter().filter(|(_, count)| *count == 2).collect();
        assert_eq!(kept, [("a0", 2), ("b0", 2)]);
    }

    #[test]
    fn an_id_without_bounds_is_not_kept() {
        let mut redelivered = Redelivered::default();
        redelivered.count(&"x".repeat(Redelivered::ID_BYTES_MAX + 1));
        assert!(redelivered.is_empty());
    }
}
