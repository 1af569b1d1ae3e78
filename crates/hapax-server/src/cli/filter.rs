//! The filters that `events` and `replay` share.

use hapax_core::EventStatus;

use super::when::When;

/// Which events.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct EventFilter {
    /// Only of this source
    #[arg(long, value_name = "SOURCE")]
    pub source: Option<String>,

    /// Only with this status: pending, failed, dead, completed, ignored or quarantined
    #[arg(long, value_name = "STATUS")]
    pub status: Option<EventStatus>,

    /// Only of this type; a `*` at the end stands for any ending
    #[arg(long = "type", value_name = "TYPE")]
    pub event_type: Option<String>,

    /// Only with this id of the sender
    #[arg(long, value_name = "ID")]
    pub event_id: Option<String>,

    /// Only received at or after this time: RFC 3339, or how long ago (`2h`)
    #[arg(long, value_name = "TIME")]
    pub since: Option<When>,

    /// Only received before this time: RFC 3339, or how long ago (`30m`)
    #[arg(long, value_name = "TIME")]
    pub until: Option<When>,
}

impl EventFilter {
    /// Whether nothing is filtered.
    pub fn is_empty(&self) -> bool {
        let Self {
            source,
            status,
            event_type,
            event_id,
            since,
            until,
        } = self;
        source.is_none()
            && status.is_none()
            && event_type.is_none()
            && event_id.is_none()
            && since.is_none()
            && until.is_none()
    }
}
