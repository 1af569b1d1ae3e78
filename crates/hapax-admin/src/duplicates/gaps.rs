//! Gaps in readable classes: a second, a minute, an hour, a week.

use std::time::Duration;

use hapax_core::store::Durations;

use hapax_api::views::GapClassView;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// The upper bound of each class except the last.
const CLASSES: [(u64, &str); 10] = [
    (1, "up to 1 s"),
    (10, "up to 10 s"),
    (MINUTE, "up to 1 min"),
    (10 * MINUTE, "up to 10 min"),
    (HOUR, "up to 1 h"),
    (6 * HOUR, "up to 6 h"),
    (DAY, "up to 1 d"),
    (3 * DAY, "up to 3 d"),
    (7 * DAY, "up to 7 d"),
    (30 * DAY, "up to 30 d"),
];
const MORE: &str = "more than 30 d";

/// Duplicates by the gap since the first delivery.
pub(super) fn classes(gaps: &Durations) -> Vec<GapClassView> {
    let ends = CLASSES.iter().map(|(seconds, label)| (Some(*seconds), *label));
    let mut views: Vec<GapClassView> = ends
        .chain([(None, MORE)])
        .map(|(up_to_seconds, label)| GapClassView {
            label: label.to_owned(),
            up_to_seconds,
            duplicates: 0,
        })
        .collect();
    for (gap, duplicates) in gaps.classes() {
        let fits = |view: &&mut GapClassView| is_within(gap, view.up_to_seconds);
        if let Some(view) = views.iter_mut().find(fits) {
            view.duplicates += duplicates;
        }
    }
    views
}

fn is_within(gap: Duration, up_to_seconds: Option<u64>) -> bool {
    up_to_seconds.is_none_or(|end| gap <= Duration::from_secs(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_gap_is_in_its_class_and_none_is_lost() {
        let mut gaps = Durations::default();
        for seconds in [
            0,
            5,
            30,
            300,
            2_400,
            4 * HOUR,
            20 * HOUR,
            2 * DAY,
            5 * DAY,
            20 * DAY,
            45 * DAY,
        ] {
            gaps.count(Duration::from_secs(seconds));
        }
        let found: Vec<u64> = classes(&gaps).iter().map(|class| class.duplicates).collect();
        assert_eq!(found, [1; 11]);
    }
}
