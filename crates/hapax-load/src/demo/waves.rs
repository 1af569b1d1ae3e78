//! The order of sending: every event several times in random order, and once more after everything was delivered.

/// Numbers of events, in sending order.
pub(crate) struct Waves {
    /// Every event between once and `times_max` times, in random order.
    pub mixed: Vec<usize>,
    /// Every event once: the duplicate that arrives long after the delivery.
    pub late: Vec<usize>,
}

impl Waves {
    /// Draws the number of requests for each event, and the order.
    pub(crate) fn new(events: usize, times_max: usize) -> Self {
        let mut mixed: Vec<usize> = (0..events)
            .flat_map(|event| std::iter::repeat_n(event, fastrand::usize(1..=times_max.max(1))))
            .collect();
        fastrand::shuffle(&mut mixed);
        let mut late: Vec<usize> = (0..events).collect();
        fastrand::shuffle(&mut late);
        Self { mixed, late }
    }

    /// All deliveries.
    pub(crate) fn total(&self) -> usize {
        self.mixed.len() + self.late.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_is_in_both_waves_and_never_more_often_than_allowed() {
        let waves = Waves::new(200, 4);
        for event in 0..200 {
            let times = waves.mixed.iter().filter(|number| **number == event).count();
            assert!((1..=4).contains(&times));
            assert_eq!(waves.late.iter().filter(|number| **number == event).count(), 1);
        }
        assert_eq!(waves.total(), waves.mixed.len() + 200);
    }
}
