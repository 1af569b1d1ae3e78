//! The scripts: Lua that a server runs atomically. Each is sent once on each connection and then called by its hash.
//!
//! A script gets two keys, its *door*: `m` of its shard, which every store has, and `-`, which is never written. A
//! cluster that is moving the shard's slot has one of the two and not the other, and so refuses the call before it
//! begins. Without the second key, a script would reach keys that have already moved and stop half way.

use std::sync::LazyLock;

use crate::shards::{Shard, Shards};

pub(crate) struct Script {
    source: LazyLock<Loaded>,
    repeat: Repeat,
}

struct Loaded {
    text: String,
    sha: String,
}

/// Whether a call may be sent again when it is unknown whether the first one ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// A repetition has the same effect, or none.
    Safe,
    /// A repetition would do more.
    Never,
}

macro_rules! scripts {
    ($($(#[$doc:meta])* $name:ident: $repeat:ident = $($file:literal)+;)+) => {
        $($(#[$doc])*
        pub(crate) static $name: Script = Script {
            source: LazyLock::new(|| Loaded::new(concat!($(include_str!(concat!("scripts/", $file, ".lua")),)+))),
            repeat: Repeat::$repeat,
        };)+
    };
}

scripts! {
    /// Claims, stores and enqueues. A repeated event is found as seen.
    ACCEPT: Safe = "shard" "ledger" "accept";
    /// Checks which identities were seen.
    SEEN: Safe = "shard" "ledger" "seen";
    /// Leases due deliveries.
    LEASE: Never = "shard" "work" "lease";
    /// Moves the ends of leases.
    EXTEND: Safe = "shard" "work" "extend";
    /// Records the results of attempts.
    FINISH: Never = "shard" "work" "finish";
    /// Takes expired leases back.
    RESCUE: Never = "shard" "work" "take_back" "rescue";
    /// Records that an owner is alive, and takes back the leases of dead owners.
    ALIVE: Never = "shard" "work" "take_back" "alive";
    /// Makes the head of a lane due.
    PROMOTE: Safe = "shard" "work" "promote";
    /// Changes the members of a lane.
    LANE: Safe = "shard" "lane";
    /// Reads events without their bodies.
    LOOK: Safe = "shard" "look";
    /// Reads several values in one snapshot, and takes numbers.
    READ: Safe = "shard" "read";
    /// Writes, if the values that were read are unchanged.
    APPLY: Never = "shard" "apply";
    /// Adds duplicates to tallies.
    TALLY: Never = "shard" "tally";
}

impl Script {
    pub(crate) const fn repeat(&self) -> Repeat {
        self.repeat
    }

    /// The hash by which a server knows it.
    pub(crate) fn hash(&self) -> &str {
        &self.source.sha
    }

    /// The call, by hash.
    pub(crate) fn by_hash(&self, shards: &Shards, shard: Shard, args: &[Vec<u8>]) -> redis::Cmd {
        command("EVALSHA", &self.source.sha, shards.tag(shard), args)
    }

    /// The call with the text, for a server that does not know it yet. The server remembers it.
    pub(crate) fn by_text(&self, shards: &Shards, shard: Shard, args: &[Vec<u8>]) -> redis::Cmd {
        command("EVAL", &self.source.text, shards.tag(shard), args)
    }
}

impl Loaded {
    fn new(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            sha: redis::Script::new(text).get_hash().to_owned(),
        }
    }
}

fn command(name: &str, script: &str, tag: &str, args: &[Vec<u8>]) -> redis::Cmd {
    let mut command = redis::cmd(name);
    command.arg(script).arg(2);
    command.arg(format!("{tag}m")).arg(format!("{tag}-"));
    for arg in args {
        command.arg(arg.as_slice());
    }
    command
}
