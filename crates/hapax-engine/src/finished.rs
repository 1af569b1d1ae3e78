//! An attempt that has ended, on its way to the store.

use std::sync::Arc;

use bytes::Bytes;
use hapax_core::Leased;
use hapax_core::store::Report;

use crate::destination_runtime::DestinationRuntime;

/// An attempt that has ended and must be recorded.
pub(crate) struct Finished {
    pub(crate) report: Report,
    pub(crate) runtime: Arc<DestinationRuntime>,
    /// The delivery, without its body: this queue must not hold payloads.
    pub(crate) leased: Leased,
}

impl Finished {
    pub(crate) fn new(report: Report, mut leased: Leased, runtime: Arc<DestinationRuntime>) -> Self {
        leased.event.body = Bytes::new();
        Self {
            report,
            runtime,
            leased,
        }
    }
}
