//! The ids with the most duplicates, in a bounded table.
//!
//! A space-saving count: a new id replaces the rarest one and inherits its count. A flood of ids therefore stays
//! bounded, and an id with more than one in [`Redelivered::IDS_MAX`] of the duplicates is always kept. Counts are never
//! too low but may be too high: before showing one, ask the store for the exact figure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Ids with duplicates, and the upper bound of their number.
///
/// A sorted list instead of a map, which it is for everyone else: it is short, and under a flood of ids every duplicate
/// replaces one of them, in the memory of the one before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "BTreeMap<String, u64>", into = "BTreeMap<String, u64>")]
pub struct Redelivered(Vec<(String, u64)>);

impl Redelivered {
    /// The maximum number of ids kept.
    pub const IDS_MAX: usize = 16;
    /// Longer ids are not kept; no source accepts a longer one.
    pub const ID_BYTES_MAX: usize = 255;

    /// Counts a duplicate of an id.
    pub fn count(&mut self, event_id: &str) {
        match self.place_of(event_id) {
            Ok(known) => self.0[known].1 += 1,
            Err(_) if event_id.len() > Self::ID_BYTES_MAX => {}
            Err(place) if self.0.len() < Self::IDS_MAX => self.0.insert(place, (event_id.to_owned(), 1)),
            Err(_) => self.replace_rarest(event_id),
        }
    }

    /// Adds the counts of `other`, and keeps the largest.
    pub fn add(&mut self, other: &Self) {
        for (event_id, count) in &other.0 {
            match self.place_of(event_id) {
                Ok(known) => self.0[known].1 += count,
                Err(place) => self.0.insert(place, (event_id.clone(), *count)),
            }
        }
        while self.0.len() > Self::IDS_MAX {
            let rarest = self.rarest();
            self.0.remove(rarest);
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

    /// Where an id is, or where it belongs.
    fn place_of(&self, event_id: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(known, _)| known.as_str().cmp(event_id))
    }

    /// The index of the id with the fewest duplicates.
    fn rarest(&self) -> usize {
        let counts = self.0.iter().enumerate();
        let rarest = counts.min_by_key(|(_, (_, count))| *count);
        rarest.map_or(0, |(index, _)| index)
    }

    /// An id that is not in the full table takes the place of the rarest one, and inherits its count.
    fn replace_rarest(&mut self, event_id: &str) {
        let rarest = self.rarest();
        let (mut text, inherited) = self.0.remove(rarest);
        text.clear();
        text.push_str(event_id);
        let place = self.place_of(event_id).unwrap_or_else(|place| place);
        self.0.insert(place, (text, inherited + 1));
    }
}

impl From<BTreeMap<String, u64>> for Redelivered {
    fn from(counts: BTreeMap<String, u64>) -> Self {
        Self(counts.into_iter().collect())
    }
}

impl From<Redelivered> for BTreeMap<String, u64> {
    fn from(redelivered: Redelivered) -> Self {
        redelivered.0.into_iter().collect()
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
    fn a_table_is_stored_as_a_map_and_reads_back_in_order() {
        let mut redelivered = Redelivered::default();
        for event_id in ["b", "a", "c", "a"] {
            redelivered.count(event_id);
        }
        let text = serde_json::to_string(&redelivered).unwrap();
        assert_eq!(text, r#"{"a":2,"b":1,"c":1}"#);
        assert_eq!(serde_json::from_str::<Redelivered>(&text).unwrap(), redelivered);
        assert_eq!(
            redelivered.iter().collect::<Vec<_>>(),
            [("a", 2), ("b", 1), ("c", 1)]
        );
    }

    #[test]
    fn an_id_that_replaces_the_rarest_inherits_its_count_and_finds_its_place() {
        let mut redelivered = Redelivered::default();
        for number in 0..Redelivered::IDS_MAX {
            redelivered.count(&format!("m{number:02}"));
            redelivered.count(&format!("m{number:02}"));
        }
        for event_id in ["z", "a"] {
            redelivered.count(event_id);
            let found: Vec<_> = redelivered.iter().collect();
            assert!(found.is_sorted(), "{found:?}");
            assert!(found.contains(&(event_id, 3)), "{found:?}");
            assert_eq!(found.len(), Redelivered::IDS_MAX);
        }
        assert!(
            redelivered
                .iter()
                .all(|(event_id, _)| event_id != "m00" && event_id != "m01"),
            "{redelivered:?}"
        );
    }

    #[test]
    fn an_id_without_bounds_is_not_kept() {
        let mut redelivered = Redelivered::default();
        redelivered.count(&"x".repeat(Redelivered::ID_BYTES_MAX + 1));
        assert!(redelivered.is_empty());
    }
}
