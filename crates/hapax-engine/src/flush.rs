//! Flush: writes the gathered counts to the store.

use std::sync::Arc;

use crate::engine::Inner;
use crate::observe::Observation;

impl Inner {
    pub(crate) async fn flush_loop(self: Arc<Self>) {
        while !self.rest(self.limits.flush_every).await {
            self.flush_gathered().await;
        }
    }

    /// Writes one bounded portion of the gathered counts. Returns whether there were any.
    pub(crate) async fn flush_gathered(&self) -> bool {
        let (duplicates, bodies, uncounted) = self.gather.take();
        if uncounted > 0 {
            self.observe(&Observation::DuplicatesUncounted {
                duplicates: uncounted,
            });
        }
        let any = !duplicates.is_empty() || !bodies.is_empty();
        let store = &self.parts.store;
        if !duplicates.is_empty()
            && let Err(error) = store.note_duplicates(duplicates).await
        {
            self.observe(&Observation::StoreFailed {
                during: "counting duplicates",
                error: &error,
            });
        }
        if !bodies.is_empty()
            && let Err(error) = store.note_bodies(bodies).await
        {
            self.observe(&Observation::StoreFailed {
                during: "recording bodies",
                error: &error,
            });
        }
        any
    }
}
