//! Replay.
use crate::failure::Failure;
use crate::link::Link;
use hapax_core::store::*;
pub(crate) async fn replay(_: &std::sync::Arc<Link>, _: Vec<ReplayOrder>) -> Result<Vec<Replayed>, Failure> {
    Err(Failure::Damaged("not yet".to_owned()))
}
