//! The result of a form, shown once at the top of the next page. The text is fixed: a URL cannot inject its own.

/// The result of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Done {
    /// An event was requeued.
    Replayed,
    /// A bulk replay was started.
    ReplayStarted,
    /// A bulk replay was cancelled.
    ReplayCancelled,
    /// A destination was paused.
    Paused,
    /// A destination was resumed.
    Resumed,
    /// A search was saved.
    SearchSaved,
    /// A saved search was deleted.
    SearchDeleted,
    /// A conflicting body was released.
    Released,
    /// An id was forgotten.
    Forgotten,
    /// A dead letter was discarded.
    Discarded,
    /// A discarded delivery was restored.
    Restored,
    /// A registration was opened.
    RegistrationOpened,
    /// A refused row of an outbox will be retried.
    OutboxRetried,
    /// The user signed out.
    SignedOut,
}

impl Done {
    const ALL: [Self; 14] = [
        Self::Replayed,
        Self::ReplayStarted,
        Self::ReplayCancelled,
        Self::Paused,
        Self::Resumed,
        Self::SearchSaved,
        Self::SearchDeleted,
        Self::Released,
        Self::Forgotten,
        Self::Discarded,
        Self::Restored,
        Self::RegistrationOpened,
        Self::OutboxRetried,
        Self::SignedOut,
    ];

    /// Its code, as in `?done=replayed`.
    pub(crate) const fn code(self) -> &'static str {
        match self {
            Self::Replayed => "replayed",
            Self::ReplayStarted => "replay-started",
            Self::ReplayCancelled => "replay-cancelled",
            Self::Paused => "paused",
            Self::Resumed => "resumed",
            Self::SearchSaved => "search-saved",
            Self::SearchDeleted => "search-deleted",
            Self::Released => "released",
            Self::Forgotten => "forgotten",
            Self::Discarded => "discarded",
            Self::Restored => "restored",
            Self::RegistrationOpened => "registration-opened",
            Self::OutboxRetried => "outbox-retried",
            Self::SignedOut => "signed-out",
        }
    }

    /// The message for the page.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Replayed => "The event was queued for delivery again.",
            Self::ReplayStarted => "The replay has started.",
            Self::ReplayCancelled => {
                "The replay was cancelled. Deliveries that were already requeued stay queued."
            }
            Self::Paused => "The destination is paused. Events are kept for it.",
            Self::Resumed => "The destination was resumed.",
            Self::SearchSaved => "The search was saved.",
            Self::SearchDeleted => "The saved search was deleted.",
            Self::Released => "The conflicting body was released as a new event.",
            Self::Forgotten => "The id was forgotten. The next event with it is accepted as new.",
            Self::Discarded => "The dead letter was discarded. It can be restored until its payload expires.",
            Self::Restored => "The delivery is a dead letter again.",
            Self::RegistrationOpened => {
                "The registration is open for ten minutes: create the webhook at the provider now."
            }
            Self::OutboxRetried => "The row will be retried.",
            Self::SignedOut => "You have signed out.",
        }
    }

    /// The result that a query string names.
    pub(super) fn of(query: Option<&str>) -> Option<Self> {
        let mut pairs = form_urlencoded::parse(query?.as_bytes());
        let (_, code) = pairs.find(|(name, _)| name == "done")?;
        Self::ALL.into_iter().find(|done| done.code() == code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_reads_back_and_no_other_text_is_shown() {
        for done in Done::ALL {
            let query = format!("q=a&done={}", done.code());
            assert_eq!(Done::of(Some(&query)), Some(done));
        }
        assert_eq!(Done::of(Some("done=You+won")), None);
        assert_eq!(Done::of(None), None);
    }
}
