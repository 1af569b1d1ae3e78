//! Ids by the rule before: after an upgrade that changes the rule of a preset's ids, what came under an old id may come again
//! and would be new. For one ledger window the old id is looked up as well. Since when a rule counts is kept in the store,
//! so that the window begins once, whichever process restarts.
//!
//! In the store a source has `identity`, whose value is `PRESET VERSION MICROSECONDS`.

use std::collections::HashMap;

use hapax_core::store::{Error, LedgerCount, SourceState};
use hapax_core::{Backend, SourceName, Timestamp};

use hapax_config::{Config, Source};

/// The name of the value.
const IDENTITY: &str = "identity";

/// Until when the ids of the rule before are looked up, for each source that has one.
#[derive(Debug, Default)]
pub struct EarlierIds(HashMap<SourceName, Timestamp>);

impl EarlierIds {
    /// Finds out since when each source has its rule, and writes down what is new.
    pub async fn read(store: &dyn Backend, config: &Config, now: Timestamp) -> Result<Self, Error> {
        let states = store.source_states().await?;
        let mut ends = HashMap::new();
        for source in config.sources.values() {
            let recorded = states
                .iter()
                .find(|state| state.source == source.name && state.name == IDENTITY);
            if recorded.is_none() && source.recipe.identity.earlier.is_none() {
                continue;
            }
            let since = match recorded.and_then(|state| since(source, state)) {
                Some(since) => since,
                None => begin(store, source, recorded, now).await?,
            };
            ends.insert(source.name.clone(), since.plus(source.ledger_window));
        }
        Ok(Self(ends))
    }

    /// Those of this configuration where the store cannot be asked: as if every rule were new.
    pub fn assumed(config: &Config, now: Timestamp) -> Self {
        let sources = config.sources.values();
        let ends = sources.map(|source| (source.name.clone(), now.plus(source.ledger_window)));
        Self(ends.collect())
    }

    /// Until when those of a source are looked up; none where there is nothing to look up.
    pub fn until(&self, source: &SourceName) -> Option<Timestamp> {
        self.0.get(source).copied()
    }
}

/// Writes down that the rule of a source counts from now on. With an empty ledger there is nothing that came before.
async fn begin(
    store: &dyn Backend,
    source: &Source,
    recorded: Option<&SourceState>,
    now: Timestamp,
) -> Result<Timestamp, Error> {
    let is_known = |ledger: &LedgerCount| ledger.scope == source.scope;
    let is_first = recorded.is_none() && !store.counts().await?.ledger.iter().any(is_known);
    let since = if is_first { Timestamp::from_micros(0) } else { now };
    let state = SourceState {
        source: source.name.clone(),
        name: IDENTITY.to_owned(),
        value: format!("{}{}", rule(source), since.as_micros()).into_bytes(),
    };
    store.put_source_state(state).await?;
    Ok(since)
}

/// Since when the rule counts, if what is recorded is of this rule.
fn since(source: &Source, recorded: &SourceState) -> Option<Timestamp> {
    let text = std::str::from_utf8(&recorded.value).ok()?;
    let micros = text.strip_prefix(&rule(source))?.parse().ok()?;
    Some(Timestamp::from_micros(micros))
}

/// What a recorded value begins with.
fn rule(source: &Source) -> String {
    let preset = source.provider.map_or("-", |provider| provider.name.as_str());
    format!("{preset} {} ", source.recipe.identity.version)
}
