//! Reads that laws make, and purging to the end.

use hapax_core::store::{DeliveryView, LedgerEntry, PurgeOrder, Purged};
use hapax_core::store::{EventQuery, EventRecord, EventSummary};
use hapax_core::{EventId, Identity};

use super::{Bench, Must};

impl Bench {
    /// The ledger entry of an id in the scope `shop`.
    pub async fn look_up(&self, event_id: &str) -> Option<LedgerEntry> {
        self.store.look_up(&Identity::new("shop", event_id)).await.must()
    }

    /// An event that must exist.
    pub async fn record(&self, id: EventId) -> EventRecord {
        self.store.get(id).await.must().must()
    }

    /// A delivery that must exist.
    pub async fn delivery(&self, id: EventId, destination: &str) -> DeliveryView {
        let found = self.record(id).await.deliveries;
        let mut fitting: Vec<_> = found
            .into_iter()
            .filter(|view| view.destination.as_str() == destination)
            .collect();
        assert_eq!(fitting.len(), 1, "one delivery of {id} to {destination}");
        fitting.remove(0)
    }

    /// Every matching event, over all pages.
    pub async fn list(&self, query: &EventQuery, page: u32) -> Vec<EventSummary> {
        let mut events = Vec::new();
        let mut after = None;
        loop {
            let found = self.store.list(query, after, page).await.must();
            events.extend(found.events);
            after = found.next;
            if after.is_none() {
                return events;
            }
        }
    }

    /// Purges until nothing more is deleted. Returns the sums.
    pub async fn purge(&self, order: &PurgeOrder) -> Purged {
        let mut sum = Purged::default();
        loop {
            let purged = self.store.purge(order.clone()).await.must();
            sum.events += purged.events;
            sum.ledger += purged.ledger;
            if !purged.more {
                return sum;
            }
        }
    }
}
