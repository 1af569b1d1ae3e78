//! Pauses a destination and resumes it, here and on every replica.

use std::sync::Arc;

use hapax_core::DestinationId;
use hapax_core::store::{Actor, Error, Pause};

use crate::engine::{Engine, Inner};
use crate::observe::Observation;

impl Engine {
    /// Stops attempts at a destination until it is resumed, on every replica. In-flight attempts finish.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn pause(
        &self,
        destination: DestinationId,
        who: impl Into<Actor>,
        why: &str,
    ) -> Result<(), Error> {
        let (inner, who) = (&self.0, who.into());
        let pause = Pause {
            destination: destination.clone(),
            at: inner.parts.clock.now(),
            by: who.name.clone(),
            why: why.to_owned(),
        };
        inner.parts.store.pause(pause.clone()).await?;
        inner.pauses.set(&destination, Some(pause));
        inner.apply_pauses();
        inner
            .audit(&who, "pause", destination.to_string(), why.to_owned())
            .await
    }

    /// Ends a pause. Returns whether there was one.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn resume(&self, destination: &DestinationId, who: impl Into<Actor>) -> Result<bool, Error> {
        let inner = &self.0;
        let was_paused = inner.parts.store.resume(destination).await?;
        inner.pauses.set(destination, None);
        inner.apply_pauses();
        inner
            .audit(&who.into(), "resume", destination.to_string(), String::new())
            .await?;
        Ok(was_paused)
    }
}

impl Inner {
    /// Picks up pauses and resumes from other replicas.
    pub(crate) async fn pauses_loop(self: Arc<Self>) {
        while !self.rest(self.limits.poll_every).await {
            let changes = self.pauses.changes();
            match self.parts.store.pauses().await {
                Ok(pauses) => {
                    self.pauses.replace(pauses, changes);
                    self.apply_pauses();
                }
                Err(error) => self.observe(&Observation::StoreFailed {
                    during: "reading pauses",
                    error: &error,
                }),
            }
        }
    }

    /// Applies the known pauses to every destination.
    fn apply_pauses(&self) {
        let mut resumed = false;
        for (id, runtime) in &self.plan.load().destinations {
            let pause = self.pauses.of(id);
            if runtime.paused() != pause {
                resumed |= pause.is_none();
                runtime.set_pause(pause);
            }
        }
        if resumed {
            self.dispatch.notify_one();
        }
    }
}
