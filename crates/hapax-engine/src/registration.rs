//! A registration: for a limited time, one provider may submit the secret that it will sign with.
//!
//! In the store, the source has the state `registration`, whose value is when it ends.

use hapax_core::store::{Error, SourceState};
use hapax_core::{Backend, SourceName, Timestamp};

/// The name of the source state.
pub const REGISTRATION: &str = "registration";

/// Lets one provider submit a secret to a source until `until`. If a registration is already open, its end is moved.
pub async fn open(store: &dyn Backend, source: &SourceName, until: Timestamp) -> Result<(), Error> {
    let state = SourceState {
        source: source.clone(),
        name: REGISTRATION.to_owned(),
        value: until.as_micros().to_string().into_bytes(),
    };
    store.put_source_state(state).await
}

/// When a source's open registration ends, if it has one.
pub fn open_until(states: &[SourceState], source: &SourceName) -> Option<Timestamp> {
    let state = states
        .iter()
        .find(|state| state.source == *source && state.name == REGISTRATION)?;
    let micros = std::str::from_utf8(&state.value).ok()?.parse().ok()?;
    Some(Timestamp::from_micros(micros))
}
