//! Accepting an event whose way is known: one destination, as its sender says, instead of its source's route.

use hapax_core::DestinationId;

use super::{Accepted, Arrival, RETRY_AFTER, Refusal};
use crate::engine::Engine;

/// An event with the destination it is meant for.
#[derive(Clone, Debug)]
pub struct Parcel {
    /// The event. Its source's route must name the destination, among any others.
    pub arrival: Arrival,
    /// The one destination that gets it.
    pub to: DestinationId,
    /// Events of one key and destination run one at a time, in the order of their acceptance.
    pub order_key: Option<String>,
}

impl Engine {
    /// Takes one event for one destination. Answers only when it is durable.
    ///
    /// # Errors
    /// A [`Refusal`]: then nothing is promised, and the sender must come again.
    pub async fn accept_for(&self, parcel: Parcel) -> Result<Accepted, Refusal> {
        let Parcel {
            arrival,
            to,
            order_key,
        } = parcel;
        let inner = &self.0;
        let shutting_down = || Refusal::ShuttingDown {
            retry_after: RETRY_AFTER,
        };
        if inner.is_stopping() {
            return Err(shutting_down());
        }
        let now = inner.elapsed();
        let plan = inner.plan.load();
        let source = plan.sources.get(&arrival.source).ok_or(Refusal::UnknownSource)?;
        let port = source.ports.iter().find(|port| port.id() == to);
        let port = port.ok_or_else(|| Refusal::Rejected {
            message: format!("`{to}` is no destination of this configuration"),
        })?;
        let keyed = source.keyed(arrival);
        let mut answers = inner.answer_from_cache(std::slice::from_ref(&keyed), now);
        if answers.is_none() {
            let event = inner.prepare_for(source, keyed, port, order_key, now);
            drop(plan);
            answers = Some(self.write(vec![event]).await?);
        }
        answers.into_iter().flatten().next().ok_or_else(shutting_down)
    }
}
