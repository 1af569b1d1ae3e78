//! List.
use crate::Options;
use crate::failure::Failure;
use crate::link::Link;
use hapax_core::store::{Cursor, EventPage, EventQuery};
use std::sync::Arc;
pub(crate) async fn list(
    _: &Arc<Link>,
    _: &Options,
    _: &EventQuery,
    _: Option<Cursor>,
    _: u32,
) -> Result<EventPage, Failure> {
    Err(Failure::Damaged("not yet".to_owned()))
}
