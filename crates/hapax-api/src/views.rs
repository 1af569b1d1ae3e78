//! The JSON documents of the admin API as types: the server writes them, the command line reads them.
//!
//! They are a contract: `--json` prints the same documents. Fields are added, never renamed. Ids are strings, times
//! are RFC 3339, and names of durations end with their unit.

mod alert;
mod delivery;
mod duplicates;
mod encryption;
mod event;
mod fact;
mod operation;
mod outbox;
mod overview;
mod place;
mod readiness;
mod search;
mod stats;
mod ten_minutes;
mod traffic;

pub use alert::{
    AlertReceiverView, AlertRuleView, AlertTestView, AlertTestedView, AlertView, AlertsView, UndeliveredView,
};
pub use delivery::Intake;
pub use delivery::{
    AttemptView, DeadGroupView, DeadGroupsView, DeliveriesView, DeliveryStatus, DeliveryView,
};
pub use duplicates::{
    DuplicateStatsView, FindingKind, FindingView, GapClassView, RedeliveredView, SourceDuplicatesView,
    WindowAdvice, WindowView,
};
pub use encryption::EncryptionView;
pub use event::{
    BatchView, ConflictView, CoverageView, DuplicatesView, EventPageView, EventSummaryView, EventView,
    HeaderView,
};
pub use fact::{DiffKind, DiffLineView, DiffSide, DiffView, IdentityView, RefusalView, VerificationView};
pub use operation::{
    AuditBreakView, AuditPageView, AuditVerifiedView, AuditView, DisposedView, ErasureView, ForgottenView,
    LedgerView, ReleasedView, ReplayJobView, ReplayPreviewView, ReplayedView, ReplaysView, TallyView,
};
pub use outbox::{OutboxRetriedView, OutboxRowView, OutboxView, OutboxesView};
pub use overview::{AttentionKind, AttentionView, OutboxHealthView, OverviewView};
pub use place::{
    DestinationView, DestinationsView, PauseView, RegistrationView, ResumedView, SourceView, SourcesView,
};
pub use readiness::{CheckView, ChecksView, Phase, ReadyView};
pub use search::{CompletionView, DeletedSearchView, SavedSearchView, SavedSearchesView, SuggestionView};
pub use stats::{DestinationStatsView, RetentionView, SourceStatsView, StatsView, StoreView};
pub use ten_minutes::{DestinationTenMinutesView, SourceTenMinutesView, TenMinutesView};
pub use traffic::{
    DestinationSeriesView, DestinationTrafficView, PercentilesView, SourceSeriesView, SourceTrafficView,
    TrafficView,
};
