//! The last refusals of a source, for finding out why nothing arrives. They are only in memory, because anyone can
//! cause them at will.

use std::collections::VecDeque;

use hapax_core::Timestamp;
use hapax_core::problem::Code;
use parking_lot::Mutex;

/// Refusals kept per source.
pub const REFUSALS_MAX: usize = 20;
/// Characters of a detail that are kept, because part of it may come from the client.
const DETAIL_CHARACTERS_MAX: usize = 500;

/// A refused request. It contains nothing of the request itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// When the request arrived.
    pub at: Timestamp,
    /// The problem's code.
    pub code: Code,
    /// The problem's description, as sent in the response.
    pub detail: String,
    /// The likely mistake, if it was diagnosed.
    pub likely: Option<String>,
}

/// The most recent refusals.
#[derive(Debug, Default)]
pub struct Refusals(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    last: VecDeque<Refusal>,
    /// A diagnosis that arrived before its refusal: both are made concurrently.
    early: Option<(Timestamp, String)>,
}

impl Refusals {
    pub fn push(&self, mut refusal: Refusal) {
        let mut kept = self.0.lock();
        if let Some((_, likely)) = kept.early.take_if(|(at, _)| *at == refusal.at) {
            refusal.likely = Some(likely);
        }
        refusal.detail = refusal.detail.chars().take(DETAIL_CHARACTERS_MAX).collect();
        if kept.last.len() == REFUSALS_MAX {
            kept.last.pop_front();
        }
        kept.last.push_back(refusal);
    }

    /// Adds the likely mistake to the refusal of the request that arrived at this time.
    pub fn explain(&self, at: Timestamp, likely: String) {
        let mut kept = self.0.lock();
        match kept.last.iter_mut().rev().find(|refusal| refusal.at == at) {
            Some(refusal) => refusal.likely = Some(likely),
            None => kept.early = Some((at, likely)),
        }
    }

    pub fn newest_first(&self) -> Vec<Refusal> {
        let kept = self.0.lock();
        kept.last.iter().rev().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(seconds: i64) -> Refusal {
        Refusal {
            at: Timestamp::from_seconds(seconds),
            code: Code::SignatureInvalid,
            detail: "the signature does not match".to_owned(),
            likely: None,
        }
    }

    #[test]
    fn only_the_last_ones_are_kept_newest_first() {
        let refusals = Refusals::default();
        for seconds in 0..100 {
            refusals.push(refusal(seconds));
        }
        let kept = refusals.newest_first();
        assert_eq!(kept.len(), REFUSALS_MAX);
        assert_eq!(kept[0].at, Timestamp::from_seconds(99));
        refusals.push(Refusal {
            detail: "é".repeat(10_000),
            ..refusal(100)
        });
        assert_eq!(
            refusals.newest_first()[0].detail.chars().count(),
            DETAIL_CHARACTERS_MAX
        );
    }

    #[test]
    fn a_likely_mistake_finds_its_refusal_whichever_comes_first() {
        let refusals = Refusals::default();
        refusals.push(refusal(1));
        refusals.explain(Timestamp::from_seconds(1), "late".to_owned());
        refusals.explain(Timestamp::from_seconds(2), "early".to_owned());
        refusals.push(refusal(3));
        refusals.push(refusal(2));
        let likely: Vec<_> = refusals
            .newest_first()
            .into_iter()
            .map(|refusal| refusal.likely)
            .collect();
        assert_eq!(likely, [Some("early".to_owned()), None, Some("late".to_owned())]);
    }
}
