//! The ids with the most duplicates: found in the counts of all processes, exact figures from the ledger.

use std::collections::HashMap;

use hapax_core::Identity;
use hapax_core::store::Redelivered;

use super::super::api_error::ApiResult;
use super::super::state::{AdminState, Settings};
use hapax_api::views::RedeliveredView;

/// Maximum number of ids shown per source.
const SHOWN_MAX: usize = 10;
/// Maximum number of ledger look-ups per response. Beyond it, only the counts are shown.
const LOOK_UPS_MAX: usize = 200;

/// Duplicates by id.
#[derive(Debug, Default)]
pub(super) struct Top(HashMap<String, u64>);

impl Top {
    /// Adds the counts of one process in one slot.
    pub(super) fn add(&mut self, redelivered: &Redelivered) {
        for (event_id, duplicates) in redelivered.iter() {
            *self.0.entry(event_id.to_owned()).or_default() += duplicates;
        }
    }

    /// The ids with the most duplicates, largest first.
    pub(super) fn largest(&self) -> Vec<(String, u64)> {
        let mut all: Vec<_> = self
            .0
            .iter()
            .map(|(id, duplicates)| (id.clone(), *duplicates))
            .collect();
        all.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
        all.truncate(SHOWN_MAX);
        all
    }
}

/// Look-ups in the ledger, limited per response.
#[derive(Debug, Default)]
pub(super) struct LookUps {
    asked: usize,
}

impl LookUps {
    /// Adds exact figures from the ledger to the ids.
    pub(super) async fn exact(
        &mut self,
        state: &AdminState,
        settings: &Settings,
        source: &str,
        ids: Vec<(String, u64)>,
    ) -> ApiResult<Vec<RedeliveredView>> {
        let configured = settings.sources.iter().find(|one| one.name == source);
        let scope = configured.map_or(source, |source| source.scope.as_str());
        let mut views = Vec::with_capacity(ids.len());
        for (event_id, duplicates_at_most) in ids {
            let mut view = counted(event_id, duplicates_at_most);
            if self.asked < LOOK_UPS_MAX {
                self.asked += 1;
                tell(state, scope, &mut view).await?;
            }
            views.push(view);
        }
        views.sort_by_key(|view| std::cmp::Reverse(view.duplicates.unwrap_or(view.duplicates_at_most)));
        Ok(views)
    }
}

fn counted(event_id: String, duplicates_at_most: u64) -> RedeliveredView {
    RedeliveredView {
        event_id,
        id: None,
        duplicates: None,
        duplicates_at_most,
        first_at: None,
        last_at: None,
        gap_ms_max: None,
    }
}

async fn tell(state: &AdminState, scope: &str, view: &mut RedeliveredView) -> ApiResult<()> {
    let identity = Identity::new(scope, view.event_id.clone());
    let store = state.engine.store();
    let Some(entry) = store.look_up(&identity).await? else {
        return Ok(());
    };
    view.id = Some(entry.id);
    view.first_at = Some(entry.first_seen);
    let tally = store.duplicates(&identity).await?.unwrap_or_default();
    view.duplicates = Some(tally.count);
    if tally.count > 0 {
        view.last_at = Some(tally.last_at);
        view.gap_ms_max = Some(tally.last_at.since(entry.first_seen).as_millis() as u64);
    }
    Ok(())
}
