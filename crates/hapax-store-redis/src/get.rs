//! Get.
use crate::failure::Failure;
use crate::link::Link;
use hapax_core::EventId;
use hapax_core::store::EventRecord;
pub(crate) async fn get(_: &Link, _: EventId) -> Result<Option<EventRecord>, Failure> {
    Err(Failure::Damaged("not yet".to_owned()))
}
