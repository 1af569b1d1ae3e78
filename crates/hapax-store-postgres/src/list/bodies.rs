//! Values in bodies: read in groups that fit into memory, up to a limit of bytes per page.

use std::collections::HashSet;

use hapax_core::EventId;
use hapax_core::store::EventQuery;
use uuid::Uuid;

use super::fits::Fitting;
use crate::batch::Batch;
use crate::failure::Failure;
use crate::session::Session;

/// Approximate limit for body bytes read per page: a few large bodies take as long as many small ones.
const BODY_BYTES_MAX: u64 = 64 << 20;
/// Approximate limit for body bytes read at once.
const GROUP_BYTES_MAX: u64 = 4 << 20;
/// Bodies read at once.
const GROUP_MAX: usize = 200;

const BODIES: &str = "
    SELECT e.id, e.body FROM {n} JOIN hapax.events e ON e.bucket = {bucket} AND e.id = n.id";

/// The amount of bodies read for a page.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reading {
    pub(super) bodies: u64,
    bytes: u64,
}

impl Reading {
    pub(super) const fn is_spent(self) -> bool {
        self.bytes >= BODY_BYTES_MAX
    }
}

/// Events whose bodies are read at once; a single group if the query does not ask about bodies.
pub(super) fn groups(query: &EventQuery, events: Vec<Fitting>) -> Vec<Vec<Fitting>> {
    if query.body.is_empty() {
        return vec![events];
    }
    let mut groups: Vec<Vec<Fitting>> = Vec::new();
    let mut bytes = 0;
    for event in events {
        bytes += event.row.body_bytes;
        match groups.last_mut() {
            Some(group) if bytes <= GROUP_BYTES_MAX && group.len() < GROUP_MAX => group.push(event),
            Some(_) | None => {
                bytes = event.row.body_bytes;
                groups.push(vec![event]);
            }
        }
    }
    groups
}

/// The events of a group whose bodies match.
pub(super) async fn fitting(
    session: &Session,
    query: &EventQuery,
    mut group: Vec<Fitting>,
    reading: &mut Reading,
) -> Result<Vec<Fitting>, Failure> {
    if query.body.is_empty() {
        return Ok(group);
    }
    let batch = Batch::in_buckets(group.iter().map(|one| one.row.bucket))
        .column("id", group.iter().map(|one| one.row.id));
    let mut fitting: HashSet<Uuid> = HashSet::new();
    for row in &session.over(BODIES, &batch).await? {
        let body: &[u8] = row.try_get(1)?;
        reading.bodies += 1;
        reading.bytes += body.len() as u64;
        let id: Uuid = row.try_get(0)?;
        if query.fits_body(EventId::from_bytes(id.into_bytes()), body) {
            fitting.insert(id);
        }
    }
    group.retain(|one| fitting.contains(&one.row.id));
    Ok(group)
}
