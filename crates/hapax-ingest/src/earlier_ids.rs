//! Event ids under the previous rule. After an upgrade that changes how a preset derives ids, a duplicate of an event
//! that was accepted under its old id would look new. So for one ledger window, events are also looked up under the old
//! id. The time at which a rule took effect is kept in the store, so that the window starts only once, no matter which
//! process restarts.
//!
//! For each source, the store holds a value named `identity`, in the form `PRESET VERSION MICROSECONDS`.

use std::collections::HashMap;

use hapax_core::store::{Error, LedgerCount, NamedValue, ValueSpace, ValueSwap};
use hapax_core::{Backend, SourceName, Timestamp};

use hapax_config::{Config, Source};

/// The name of the value.
const IDENTITY: &str = "identity";

/// For each source with a previous rule, until when its old ids are looked up.
#[derive(Debug, Default)]
pub struct EarlierIds(HashMap<SourceName, Timestamp>);

impl EarlierIds {
    /// Reads when each source's rule took effect, and records new rules.
    pub async fn read(store: &dyn Backend, config: &Config, now: Timestamp) -> Result<Self, Error> {
        let mut ends = HashMap::new();
        for source in config.sources.values() {
            let values = store.values(&ValueSpace::Source(source.name.clone())).await?;
            let recorded = values.iter().find(|value| value.name == IDENTITY);
            if recorded.is_none() && source.recipe.identity.earlier.is_none() {
                continue;
            }
            let since = match recorded.and_then(|recorded| since(source, recorded)) {
                Some(since) => since,
                None => begin(store, source, recorded, now).await?,
            };
            ends.insert(source.name.clone(), since.plus(source.ledger_window));
        }
        Ok(Self(ends))
    }

    /// The fallback if the store cannot be read: treats every rule as new.
    pub fn assumed(config: &Config, now: Timestamp) -> Self {
        let sources = config.sources.values();
        let ends = sources.map(|source| (source.name.clone(), now.plus(source.ledger_window)));
        Self(ends.collect())
    }

    /// Until when a source's old ids are looked up; `None` if it has none.
    pub fn until(&self, source: &SourceName) -> Option<Timestamp> {
        self.0.get(source).copied()
    }
}

/// Records that a source's rule takes effect now. If the ledger is empty, no earlier ids exist.
async fn begin(
    store: &dyn Backend,
    source: &Source,
    recorded: Option<&NamedValue>,
    now: Timestamp,
) -> Result<Timestamp, Error> {
    let is_known = |ledger: &LedgerCount| ledger.scope == source.scope;
    let is_first = recorded.is_none() && !store.counts().await?.ledger.iter().any(is_known);
    let since = if is_first { Timestamp::from_micros(0) } else { now };
    let value = NamedValue::new(IDENTITY, format!("{}{}", rule(source), since.as_micros()));
    let put = ValueSwap::put(ValueSpace::Source(source.name.clone()), value);
    store.swap_value(put).await?;
    Ok(since)
}

/// When the rule took effect, if the recorded value is for this rule.
fn since(source: &Source, recorded: &NamedValue) -> Option<Timestamp> {
    let text = std::str::from_utf8(&recorded.value).ok()?;
    let micros = text.strip_prefix(&rule(source))?.parse().ok()?;
    Some(Timestamp::from_micros(micros))
}

/// The prefix of a recorded value.
fn rule(source: &Source) -> String {
    let preset = source.provider.map_or("-", |provider| provider.name.as_str());
    format!("{preset} {} ", source.recipe.identity.version)
}
