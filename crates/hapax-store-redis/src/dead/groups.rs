//! Dead letters by destination and error, counted from the lists alone: the cost follows the number of dead letters.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use hapax_core::store::DeadGroup;
use hapax_core::{DestinationId, EventId};

use super::ended::{self, AT_ONCE, Ended};
use super::read;
use crate::event::EventRow;
use crate::failure::Failure;
use crate::link::{Link, on_each};
use crate::shards::Shard;

/// The maximum number of groups in one answer.
const GROUPS_MAX: u32 = 1_000;
/// The list of dead deliveries.
const DEAD: &str = "d";

/// What the members of a group have in common: the destination, and the name of the error.
type Name = (DestinationId, Option<&'static str>);

struct Group {
    count: u64,
    first: Ended,
    last: Ended,
}

/// The groups, largest first.
pub(crate) async fn dead_groups(link: &Arc<Link>, limit: u32) -> Result<Vec<DeadGroup>, Failure> {
    let mut all: BTreeMap<Name, Group> = BTreeMap::new();
    for of_shard in on_each(link, gather).await? {
        for (name, group) in of_shard {
            add(&mut all, name, group);
        }
    }
    let mut groups: Vec<Group> = all.into_values().collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.count));
    groups.truncate(limit.min(GROUPS_MAX) as usize);
    let ends: Vec<Ended> = groups
        .iter()
        .flat_map(|group| [group.first.clone(), group.last.clone()])
        .collect();
    let events = read(link, &ends).await?;
    Ok(groups.iter().filter_map(|group| shown(group, &events)).collect())
}

/// The groups of one shard.
async fn gather(link: Arc<Link>, shard: Shard) -> Result<BTreeMap<Name, Group>, Failure> {
    let mut groups = BTreeMap::new();
    let mut after = None;
    loop {
        let page = ended::oldest(&link, shard, DEAD, after).await?;
        let is_last = page.len() < AT_ONCE;
        after = page.last().map(|ended| ended.place);
        for ended in page {
            let name = (ended.to.clone(), ended.error.map(hapax_core::ErrorClass::as_str));
            let alone = Group {
                count: 1,
                first: ended.clone(),
                last: ended,
            };
            add(&mut groups, name, alone);
        }
        if is_last {
            return Ok(groups);
        }
    }
}

fn add(groups: &mut BTreeMap<Name, Group>, name: Name, more: Group) {
    match groups.get_mut(&name) {
        None => {
            groups.insert(name, more);
        }
        Some(group) => {
            group.count += more.count;
            if more.first.place < group.first.place {
                group.first = more.first;
            }
            if more.last.place > group.last.place {
                group.last = more.last;
            }
        }
    }
}

/// `None` if its first or last member has been deleted in the meantime.
fn shown(group: &Group, events: &HashMap<EventId, EventRow>) -> Option<DeadGroup> {
    let at = |ended: &Ended| ended.finished_at(events.get(&ended.id)?);
    Some(DeadGroup {
        destination: group.last.to.clone(),
        error: group.last.error,
        count: group.count,
        first_at: at(&group.first)?,
        last_at: at(&group.last)?,
        last: group.last.id,
    })
}
