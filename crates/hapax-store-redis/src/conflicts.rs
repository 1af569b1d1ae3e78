//! Conflicts.
use crate::failure::Failure;
use crate::link::Link;
use hapax_core::store::{Quarantined, Variant};
pub(crate) async fn quarantine(_: &Link, _: Vec<Variant>) -> Result<Vec<Quarantined>, Failure> {
    Err(Failure::Damaged("not yet".to_owned()))
}
