//! Requests that wait until an event is attempted.

use std::collections::HashMap;
use std::sync::Arc;

use hapax_core::EventId;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

/// Requests waiting for each event.
#[derive(Debug, Default)]
pub(crate) struct Watchers(Mutex<HashMap<EventId, Arc<Notify>>>);

impl Watchers {
    /// An attempt at this event was recorded.
    pub(crate) fn finished(&self, event: EventId) {
        if let Some(watcher) = self.0.lock().get(&event) {
            watcher.notify_waiters();
        }
    }

    pub(crate) fn watch(&self, event: EventId) -> Watch<'_> {
        let notify = Arc::clone(self.0.lock().entry(event).or_default());
        Watch {
            watchers: self,
            event,
            notify,
        }
    }
}

/// One waiting request; the last one to leave removes the entry.
pub(crate) struct Watch<'w> {
    watchers: &'w Watchers,
    event: EventId,
    notify: Arc<Notify>,
}

impl Watch<'_> {
    /// The next recorded attempt.
    pub(crate) fn finished(&self) -> Notified<'_> {
        self.notify.notified()
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        let mut watchers = self.watchers.0.lock();
        // Two holders are left: the map and this one.
        if Arc::strong_count(&self.notify) <= 2 {
            watchers.remove(&self.event);
        }
    }
}
