//! The backlog of one destination: how many deliveries are due in the store that this process has not leased.
//!
//! An upper bound, and nobody has to count rows for it. Deliveries that this process makes due are counted, and those
//! that it leases are subtracted. What others make due is found by asking for one delivery more than were counted: an
//! answer shorter than the request means that nothing more is due.

use std::time::Duration;

/// The backlog of one destination.
#[derive(Debug)]
pub(crate) struct Backlog {
    /// Deliveries that this process has made due.
    came: u64,
    /// Those of them that are no longer due.
    gone: u64,
    uncounted: Uncounted,
    /// When the next waiting delivery is due, on the monotonic clock; none if unknown.
    next_due: Option<Duration>,
    /// Whether a request for a delivery that was lost before waits for a permit.
    suspect_waits: bool,
    request: Option<Request>,
}

/// Whether deliveries that were not counted may be due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Uncounted {
    Nothing,
    /// Probably nothing: asking for one is enough to find out.
    Perhaps,
    Any,
}

/// A request to lease deliveries that the store has not answered yet, and what happened since it was sent.
#[derive(Debug)]
struct Request {
    limit: u32,
    came: u64,
    counted: u64,
    uncounted_since: Uncounted,
    due_since: Option<Duration>,
}

/// The store's answer to a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeaseAnswer {
    pub(crate) leased: u32,
    /// Whether the store said that more is due.
    pub(crate) is_more_due: bool,
    /// When the next waiting delivery is due, on the monotonic clock.
    pub(crate) next_due: Option<Duration>,
}

impl Default for Backlog {
    fn default() -> Self {
        Self {
            came: 0,
            gone: 0,
            // Deliveries that an earlier run left in the store come first.
            uncounted: Uncounted::Any,
            next_due: None,
            suspect_waits: false,
            request: None,
        }
    }
}

impl Backlog {
    /// One more delivery is due.
    pub(crate) const fn add(&mut self) {
        self.came += 1;
    }

    /// Any number of deliveries may have become due.
    pub(crate) fn mark_dirty(&mut self) {
        self.raise(Uncounted::Any);
    }

    /// Other replicas may have left deliveries.
    pub(crate) fn mark_unsure(&mut self) {
        self.raise(Uncounted::Perhaps);
    }

    fn raise(&mut self, uncounted: Uncounted) {
        self.uncounted = self.uncounted.max(uncounted);
        if let Some(request) = &mut self.request {
            request.uncounted_since = request.uncounted_since.max(uncounted);
        }
    }

    /// A delivery becomes due at this time.
    pub(crate) fn due_at(&mut self, moment: Duration) {
        self.next_due = earliest(self.next_due, Some(moment));
        if let Some(request) = &mut self.request {
            request.due_since = earliest(request.due_since, Some(moment));
        }
    }

    /// Counts the delivery that has become due by now. Others may have at the same time.
    pub(crate) fn count_due(&mut self, now: Duration) {
        if self.next_due.is_some_and(|due| due <= now) {
            self.next_due = None;
            self.add();
            self.mark_unsure();
        }
    }

    pub(crate) const fn next_due(&self) -> Option<Duration> {
        self.next_due
    }

    /// A request for a delivery that was lost before has no permit yet, or has got one.
    pub(crate) const fn set_suspect_waits(&mut self, waits: bool) {
        self.suspect_waits = waits;
    }

    const fn counted(&self) -> u64 {
        self.came - self.gone
    }

    /// The number of deliveries to ask the store for.
    pub(crate) fn wanted(&self) -> u32 {
        match self.uncounted {
            Uncounted::Nothing => clamp(self.counted()),
            Uncounted::Perhaps => clamp(self.counted() + 1),
            Uncounted::Any => u32::MAX,
        }
    }

    /// The permits that older deliveries need: a new one may only have what is left. Those of a request in progress are
    /// taken already.
    pub(crate) fn needed(&self) -> u32 {
        let wanted = self.wanted();
        if wanted == u32::MAX {
            return wanted;
        }
        let asked = self.request.as_ref().map_or(0, |request| request.limit);
        wanted.saturating_sub(asked) + u32::from(self.suspect_waits)
    }

    /// The store is being asked for up to `limit` deliveries.
    pub(crate) const fn begin_request(&mut self, limit: u32) {
        self.request = Some(Request {
            limit,
            came: self.came,
            counted: self.counted(),
            uncounted_since: Uncounted::Nothing,
            due_since: None,
        });
    }

    /// The store has answered, or failed.
    pub(crate) fn end_request(&mut self, answer: Option<LeaseAnswer>) {
        let (Some(request), Some(answer)) = (self.request.take(), answer) else {
            return;
        };
        if answer.leased < request.limit && !answer.is_more_due {
            // What has become due since then may have been leased, too; it is counted until the next answer.
            self.gone = self.gone.max(request.came);
            self.uncounted = request.uncounted_since;
            self.next_due = earliest(answer.next_due, request.due_since);
            return;
        }
        self.gone = self.came.min(self.gone + u64::from(answer.leased));
        if answer.leased < request.limit || u64::from(answer.leased) > request.counted {
            self.mark_dirty();
        } else if answer.is_more_due && self.counted() == 0 {
            self.mark_unsure();
        }
    }
}

fn earliest(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    one.into_iter().chain(other).min()
}

/// `u32::MAX` stands for any number.
fn clamp(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A backlog whose store has said that nothing is due.
    fn empty() -> Backlog {
        let mut backlog = Backlog::default();
        backlog.ask(8, nothing());
        backlog
    }

    fn with(due: u32) -> Backlog {
        let mut backlog = empty();
        (0..due).for_each(|_| backlog.add());
        backlog
    }

    const fn nothing() -> LeaseAnswer {
        leased(0)
    }

    const fn leased(leased: u32) -> LeaseAnswer {
        LeaseAnswer {
            leased,
            is_more_due: false,
            next_due: None,
        }
    }

    impl Backlog {
        fn ask(&mut self, limit: u32, answer: LeaseAnswer) {
            self.begin_request(limit);
            self.end_request(Some(answer));
        }
    }

    #[test]
    fn anything_may_be_due_until_the_store_has_said_otherwise() {
        let mut backlog = Backlog::default();
        assert_eq!((backlog.wanted(), backlog.needed()), (u32::MAX, u32::MAX));
        backlog.ask(8, leased(8));
        assert_eq!(backlog.needed(), u32::MAX, "it gave all that was asked for");
        backlog.ask(8, leased(7));
        assert_eq!((backlog.wanted(), backlog.needed()), (0, 0));
    }

    #[test]
    fn what_is_leased_no_longer_waits() {
        let mut backlog = with(5);
        assert_eq!((backlog.wanted(), backlog.needed()), (5, 5));
        backlog.ask(3, leased(3));
        assert_eq!(backlog.wanted(), 2);
        backlog.ask(2, leased(2));
        assert_eq!(backlog.wanted(), 0);
    }

    #[test]
    fn a_request_in_progress_has_its_permits() {
        let mut backlog = with(5);
        backlog.begin_request(4);
        assert_eq!(backlog.needed(), 1);
        backlog.add();
        assert_eq!(backlog.needed(), 2);
        backlog.end_request(None);
        assert_eq!(backlog.needed(), 6, "the store failed");
    }

    #[test]
    fn a_short_answer_says_nothing_about_what_came_after_the_request() {
        let mut backlog = with(5);
        backlog.begin_request(5);
        backlog.add();
        backlog.end_request(Some(leased(1)));
        assert_eq!(backlog.wanted(), 1);
        backlog.begin_request(1);
        backlog.mark_unsure();
        backlog.end_request(Some(nothing()));
        assert_eq!(backlog.wanted(), 1, "still to be looked for");
        backlog.begin_request(1);
        backlog.mark_dirty();
        backlog.end_request(Some(nothing()));
        assert_eq!(backlog.wanted(), u32::MAX);
    }

    #[test]
    fn a_look_asks_for_one_more_and_finds_what_others_left() {
        let mut backlog = with(2);
        backlog.mark_unsure();
        assert_eq!((backlog.wanted(), backlog.needed()), (3, 3));
        backlog.ask(2, leased(2));
        assert_eq!(backlog.wanted(), 1, "there was no permit for the look");
        backlog.ask(1, leased(1));
        assert_eq!(backlog.wanted(), u32::MAX, "what others left");
    }

    #[test]
    fn a_look_that_finds_nothing_is_done() {
        let mut backlog = with(2);
        backlog.mark_unsure();
        backlog.ask(3, leased(2));
        assert_eq!(backlog.wanted(), 0);
    }

    #[test]
    fn a_store_that_says_more_is_due_is_asked_again() {
        let more = |count| LeaseAnswer {
            is_more_due: true,
            ..leased(count)
        };
        let mut backlog = with(2);
        backlog.ask(2, more(2));
        assert_eq!(backlog.wanted(), 1, "others left it");
        let mut backlog = with(2);
        backlog.begin_request(2);
        backlog.add();
        backlog.end_request(Some(more(2)));
        assert_eq!(backlog.wanted(), 1, "it has been counted since");
        let mut backlog = with(9);
        backlog.ask(9, more(4));
        assert_eq!(backlog.wanted(), u32::MAX, "the store gave fewer than were due");
    }

    #[test]
    fn a_retry_is_counted_when_it_is_due() {
        let at = Duration::from_secs;
        let mut backlog = empty();
        backlog.due_at(at(5));
        backlog.due_at(at(3));
        backlog.count_due(at(2));
        assert_eq!((backlog.wanted(), backlog.next_due()), (0, Some(at(3))));
        backlog.count_due(at(3));
        assert_eq!(backlog.wanted(), 2, "and others at the same time, perhaps");
        backlog.begin_request(2);
        backlog.due_at(at(4));
        backlog.end_request(Some(LeaseAnswer {
            next_due: Some(at(5)),
            ..leased(1)
        }));
        assert_eq!((backlog.wanted(), backlog.next_due()), (0, Some(at(4))));
    }

    #[test]
    fn a_suspect_that_waits_needs_a_permit_that_no_request_for_others_takes() {
        let mut backlog = empty();
        backlog.set_suspect_waits(true);
        assert_eq!((backlog.wanted(), backlog.needed()), (0, 1));
        backlog.set_suspect_waits(false);
        assert_eq!(backlog.needed(), 0);
    }
}
