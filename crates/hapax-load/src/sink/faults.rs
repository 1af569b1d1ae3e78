//! How often, and how, the sink fails.

/// The number of deliveries in a thousand that fail in each way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Faults {
    /// Answered 503, without an effect.
    pub refuse: u32,
    /// Answered 500, although the effect was applied.
    pub fail_after_effect: u32,
    /// Not answered at all, although the effect was applied.
    pub hang_up_after_effect: u32,
}

/// One way to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No effect, and the answer says so.
    Refuse,
    /// An effect, and an answer that denies it.
    FailAfterEffect,
    /// An effect, and no answer.
    HangUpAfterEffect,
}

impl Faults {
    pub const NONE: Self = Self {
        refuse: 0,
        fail_after_effect: 0,
        hang_up_after_effect: 0,
    };

    /// Draws what happens to the next delivery.
    pub fn draw(self) -> Option<Fault> {
        if self == Self::NONE {
            return None;
        }
        self.of(fastrand::u32(0..1000))
    }

    fn of(self, drawn: u32) -> Option<Fault> {
        let fail_from = self.refuse;
        let hang_up_from = fail_from + self.fail_after_effect;
        let none_from = hang_up_from + self.hang_up_after_effect;
        if drawn < fail_from {
            Some(Fault::Refuse)
        } else if drawn < hang_up_from {
            Some(Fault::FailAfterEffect)
        } else if drawn < none_from {
            Some(Fault::HangUpAfterEffect)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_has_its_share_of_a_thousand() {
        let faults = Faults {
            refuse: 10,
            fail_after_effect: 20,
            hang_up_after_effect: 30,
        };
        let count = |fault| (0..1000).filter(|drawn| faults.of(*drawn) == fault).count();
        assert_eq!(count(Some(Fault::Refuse)), 10);
        assert_eq!(count(Some(Fault::FailAfterEffect)), 20);
        assert_eq!(count(Some(Fault::HangUpAfterEffect)), 30);
        assert_eq!(count(None), 940);
    }
}
