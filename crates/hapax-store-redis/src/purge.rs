//! Purge.
use crate::Options;
use crate::failure::Failure;
use crate::link::Link;
use hapax_core::store::*;
#[derive(Debug, Default)]
pub(crate) struct Progress;
pub(crate) async fn purge(
    _: &std::sync::Arc<Link>,
    _: &Options,
    _: &Progress,
    _: &PurgeOrder,
) -> Result<Purged, Failure> {
    Err(Failure::Damaged("not yet".to_owned()))
}
