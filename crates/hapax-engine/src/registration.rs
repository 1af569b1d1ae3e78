//! A registration: for a while, one sender may hand over the secret that it will sign with.
//!
//! In the store a source has `registration`, whose value is when it ends.

use hapax_core::store::{Error, SourceState};
use hapax_core::{Backend, SourceName, Timestamp};

/// The name of an open registration.
pub const REGISTRATION: &str = "registration";

/// Lets one sender hand over a secret to a source until then. A registration that is open already is moved.
pub async fn open(store: &dyn Backend, source: &SourceName, until: Timestamp) -> Result<(), Error> {
    let state = SourceState {
        source: source.clone(),
        name: REGISTRATION.to_owned(),
        value: until.as_micros().to_string().into_bytes(),
    };
    store.put_source_state(state).await
}

/// Until when a registration of a source is open, if one is.
pub fn open_until(states: &[SourceState], source: &SourceName) -> Option<Timestamp> {
    let state = states
        .iter()
        .find(|state| state.source == *source && state.name == REGISTRATION)?;
    let micros = std::str::from_utf8(&state.value).ok()?.parse().ok()?;
    Some(Timestamp::from_micros(micros))
}
