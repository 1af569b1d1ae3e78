//! Secrets that senders hand over, such as Asana's: taken only while the operator has a registration open, kept in the
//! store, which encrypts them, before the sender is answered, and found there by every replica.
//!
//! In the store a source has `registration`, whose value is when it ends, and a `secret:…` for each that was taken.

mod secrets;

use hapax_core::store::{Error, SourceState};
use hapax_core::{Backend, SourceName, Timestamp};

pub(crate) use secrets::{HandedSecrets, NotTaken};

/// The name of an open registration.
const REGISTRATION: &str = "registration";
/// What the names of secrets begin with.
const SECRET_PREFIX: &str = "secret:";

/// Lets one sender hand over a secret to a source until then. A registration that is open already is moved.
pub(crate) async fn open(store: &dyn Backend, source: &SourceName, until: Timestamp) -> Result<(), Error> {
    let state = SourceState {
        source: source.clone(),
        name: REGISTRATION.to_owned(),
        value: until.as_micros().to_string().into_bytes(),
    };
    store.put_source_state(state).await
}

/// Until when a registration of a source is open, if one is.
fn open_until(states: &[SourceState], source: &SourceName) -> Option<Timestamp> {
    let state = states
        .iter()
        .find(|state| state.source == *source && state.name == REGISTRATION)?;
    let micros = std::str::from_utf8(&state.value).ok()?.parse().ok()?;
    Some(Timestamp::from_micros(micros))
}
