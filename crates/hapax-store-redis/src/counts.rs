//! Counts.
use crate::failure::Failure;
use crate::link::Link;
use hapax_core::store::Counts;
use std::sync::Arc;
pub(crate) async fn counts(_: &Arc<Link>) -> Result<Counts, Failure> {
    Err(Failure::Damaged("not yet".to_owned()))
}
