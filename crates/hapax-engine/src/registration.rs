//! A registration: for a limited time, one provider may submit the secret that it will sign with.
//!
//! In the store, the source has the value `registration`: when it ends.

use hapax_core::store::{Error, NamedValue, ValueSpace, ValueSwap};
use hapax_core::{Backend, SourceName, Timestamp};

/// The name of the value.
pub const REGISTRATION: &str = "registration";

/// Lets one provider submit a secret to a source until `until`. If a registration is already open, its end is moved.
pub async fn open(store: &dyn Backend, source: &SourceName, until: Timestamp) -> Result<(), Error> {
    let registration = NamedValue::new(REGISTRATION, until.as_micros().to_string());
    let space = ValueSpace::Source(source.clone());
    store.swap_value(ValueSwap::put(space, registration)).await?;
    Ok(())
}

/// When the open registration among a source's values ends, if there is one.
pub fn open_until(values: &[NamedValue]) -> Option<Timestamp> {
    let registration = values.iter().find(|value| value.name == REGISTRATION)?;
    let micros = std::str::from_utf8(&registration.value).ok()?.parse().ok()?;
    Some(Timestamp::from_micros(micros))
}
