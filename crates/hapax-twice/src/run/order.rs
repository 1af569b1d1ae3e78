//! `out-of-order`: an older event after a newer one, which must have the same result as in order.

use super::{Note, Runner, Stop, Subject};
use crate::effect::{Change, Reference};
use crate::error::Error;
use crate::event::Delivery;
use crate::finding::{Finding, FindingKind};

/// Which of two events is delivered first.
#[derive(Clone, Copy)]
enum First {
    Older,
    Newer,
}

impl Runner {
    /// Both in order, once to warm up and twice to learn from; then the newer one first.
    pub(super) async fn out_of_order(&mut self, older: &Subject, newer: &Subject) -> Result<Note, Stop> {
        self.both(older, newer, First::Older).await?;
        let first = self.both(older, newer, First::Older).await?;
        let second = self.both(older, newer, First::Older).await?;
        let reference = Reference::learn(&first, second.clone()).ok_or_else(|| Error::Unsteady {
            event: format!("{} and {}", older.event.name, newer.event.name),
            first,
            second,
        })?;
        let change = self.both(older, newer, First::Newer).await?;
        if reference.difference(&change).is_none() {
            return Ok(None);
        }
        let expected = crate::report::change_lines(&reference.change).join("\n");
        let detail =
            format!("in order, both together make these changes:\n{expected}\nwith the newer one first");
        Err(Finding::new(FindingKind::Overwritten, detail).with(change).into())
    }

    async fn both(&mut self, older: &Subject, newer: &Subject, first: First) -> Result<Change, Stop> {
        let pair = older.event.pair(&newer.event, self.sender.provider);
        let [one, two]: [Delivery; 2] = pair.map_err(|problem| Error::Event {
            name: older.event.name.clone(),
            problem,
        })?;
        let names: Vec<_> = one.names.iter().chain(&two.names).cloned().collect();
        let deliveries = match first {
            First::Older => [one, two],
            First::Newer => [two, one],
        };
        for delivery in &deliveries {
            self.until_accepted(delivery).await?;
        }
        Ok(self.settled_change(&names).await?)
    }
}
