//! Traffic over time: rows of sums, each written whole by the process it belongs to. In the first shard, one hash per
//! slot, which Redis deletes when no chart shows it any longer.

use hapax_core::store::{Subject, TimeRange, TrafficRow};
use hapax_core::{Owner, Timestamp};

use crate::event::split;
use crate::failure::{Failure, damaged};
use crate::link::Link;
use crate::shards::HOME;
use crate::snapshot::{Change, Command, Room};
use crate::{json, reply};

/// Slots after the current one: the clock of a process may be ahead of the server's.
const SLOTS_AHEAD: u32 = 2;

pub(crate) async fn put(link: &Link, rows: &[TrafficRow]) -> Result<(), Failure> {
    let mut change = Change::default();
    for row in rows {
        let key = key(row.range, row.slot);
        let field = format!("{}\0{}", row.subject.to_text(), row.owner.0);
        let sums = json::write(&row.traffic)?;
        change.then(Command::new("HSET", key.clone()).arg(field).arg(sums));
        let shown_until = row.slot.plus(row.range.step() * row.range.slots() as u32);
        change.then(Command::new("EXPIREAT", key).number(shown_until.as_seconds()));
    }
    if !change.is_empty() {
        link.apply(HOME, &[change], Room::Needed).await?;
    }
    Ok(())
}

/// Every row of a range, by slot.
pub(crate) async fn list(link: &Link, span: TimeRange) -> Result<Vec<TrafficRow>, Failure> {
    let now = link.read(HOME, Vec::new()).await?.now;
    let slots: Vec<Timestamp> = (0..span.slots() as u32 + SLOTS_AHEAD)
        .map(|number| span.oldest(now).plus(span.step() * number))
        .collect();
    let commands = slots
        .iter()
        .map(|slot| Command::new("HGETALL", key(span, *slot)))
        .collect();
    let mut snapshot = link.read(HOME, commands).await?;
    let mut rows = Vec::new();
    for slot in slots {
        let mut of_slot = reply::pairs(snapshot.next()?)?;
        of_slot.sort_unstable();
        for (field, sums) in of_slot {
            let (subject, owner) = whose(&field)?;
            rows.push(TrafficRow {
                range: span,
                slot,
                subject,
                owner,
                traffic: json::read(&sums, "traffic")?,
            });
        }
    }
    Ok(rows)
}

fn key(span: TimeRange, slot: Timestamp) -> String {
    format!("T{span}\0{slot}", span = span.as_str(), slot = slot.as_seconds())
}

fn whose(field: &[u8]) -> Result<(Subject, Owner), Failure> {
    let (subject, owner) = split(field)?;
    let text = |bytes| std::str::from_utf8(bytes).ok();
    let subject = text(subject).and_then(Subject::from_text);
    let owner = text(owner).and_then(|owner| owner.parse().ok()).map(Owner);
    subject
        .zip(owner)
        .ok_or_else(|| damaged("the owner of a traffic row"))
}
