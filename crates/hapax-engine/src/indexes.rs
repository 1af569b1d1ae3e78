//! Indexed fields: declares them to the store, which reports since when a search can rely on each.

use std::sync::Arc;

use hapax_core::store::IndexedField;

use crate::engine::Inner;
use crate::observe::Observation;
use crate::plan::Plan;

impl Inner {
    /// Declares the routing's indexed fields, at the start and after each change. Failures are retried.
    pub(crate) async fn indexes_loop(self: Arc<Self>) {
        loop {
            // Read after the routing is in place: events accepted once the store has answered are indexed.
            let fields = self.plan.load().indexed_fields();
            match self.parts.store.declare_indexes(fields).await {
                Ok(declared) => {
                    let known = declared
                        .into_iter()
                        .map(|(field, since)| ((field.source, field.pointer), since));
                    self.indexes.store(Arc::new(known.collect()));
                    tokio::select! {
                        biased;
                        () = self.stop.cancelled() => return,
                        () = self.declare.notified() => {}
                    }
                }
                Err(error) => {
                    self.observe(&Observation::StoreFailed {
                        during: "declaring indexed fields",
                        error: &error,
                    });
                    if self.rest(self.limits.poll_every).await {
                        return;
                    }
                }
            }
        }
    }

    /// Stops relying on fields that a new routing no longer indexes: events without them arrive immediately.
    pub(crate) fn drop_indexes(&self, plan: &Plan) {
        let kept = plan.indexed_fields();
        let mut indexes = (**self.indexes.load()).clone();
        indexes.retain(|(source, pointer), _| {
            kept.iter()
                .any(|field| field.source == *source && field.pointer == *pointer)
        });
        self.indexes.store(Arc::new(indexes));
    }
}

impl Plan {
    fn indexed_fields(&self) -> Vec<IndexedField> {
        let fields = self.sources.iter().flat_map(|(source, compiled)| {
            let pointers = compiled.route.indexed.iter();
            pointers.map(|pointer| IndexedField {
                source: source.clone(),
                pointer: pointer.clone(),
            })
        });
        let mut fields: Vec<IndexedField> = fields.collect();
        fields.sort_unstable();
        fields
    }
}
