//! A cluster as one of its servers sees it, from `CLUSTER NODES`.

use std::fmt;

use super::{NODES, SLOTS};
use crate::ServerError;
use crate::node::Node;

pub(super) struct View {
    text: String,
    members: Vec<Member>,
}

struct Member {
    port: u16,
    flags: String,
    is_linked: bool,
    slots: Vec<(u16, u16)>,
}

/// Asks one server.
pub(super) fn of(node: &Node) -> Result<View, ServerError> {
    let text = node.call(&["CLUSTER", "NODES"])?.text();
    let members = text.lines().filter_map(member).collect();
    Ok(View { text, members })
}

impl View {
    /// The port of the master of a slot.
    pub(super) fn master_of(&self, slot: u16) -> Option<u16> {
        let has = |member: &&Member| {
            member
                .slots
                .iter()
                .any(|(first, last)| (*first..=*last).contains(&slot))
        };
        self.members.iter().find(has).map(|member| member.port)
    }

    /// Whether all servers know each other.
    pub(super) fn is_acquainted(&self) -> bool {
        let met = |member: &&Member| member.is_linked && !member.flags.contains("handshake");
        self.members.iter().filter(met).count() == NODES
    }

    pub(super) fn replicas(&self) -> usize {
        let is_replica = |member: &&Member| member.flags.contains("slave");
        self.members.iter().filter(is_replica).count()
    }

    /// Whether servers on these ports own all slots, and all of them are healthy.
    pub(super) fn is_whole_with(&self, running: &[u16]) -> bool {
        let members = || {
            self.members
                .iter()
                .filter(|member| running.contains(&member.port))
        };
        let well =
            members().all(|member| !member.flags.contains("fail") && !member.flags.contains("handshake"));
        let ranges = members().flat_map(|member| &member.slots);
        let served: u32 = ranges.map(|(first, last)| u32::from(last - first) + 1).sum();
        well && members().count() == running.len() && served == u32::from(SLOTS)
    }
}

impl fmt::Display for View {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

/// `id host:port@bus flags master sent received epoch link slots…`
fn member(line: &str) -> Option<Member> {
    let mut words = line.split_whitespace().skip(1);
    let (place, _) = words.next()?.split_once('@')?;
    let port = place.rsplit_once(':')?.1.parse().ok()?;
    let flags = words.next()?.to_owned();
    let mut words = words.skip(4);
    let is_linked = words.next()? == "connected";
    Some(Member {
        port,
        flags,
        is_linked,
        slots: words.filter_map(slots).collect(),
    })
}

/// `5` or `0-5460`. Entries in brackets are about a slot on its way.
fn slots(word: &str) -> Option<(u16, u16)> {
    let (first, last) = word.split_once('-').unwrap_or((word, word));
    Some((first.parse().ok()?, last.parse().ok()?))
}
