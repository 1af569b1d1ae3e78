//! Reading several values of a shard in one snapshot, and writing if they are unchanged.
//!
//! Rare operations are decided here and not in a script: read, decide, apply; and again, if another process was faster.

use hapax_core::Timestamp;
use redis::Value;

use crate::failure::{Failure, damaged};
use crate::link::Link;
use crate::reply;
use crate::script::{APPLY, READ};
use crate::shards::Shard;

/// How many times a step is started again because another process was faster.
pub(crate) const ROUNDS_MAX: u32 = 20;

/// A command: its name, its key without the shard's tag, its arguments.
#[derive(Clone, Debug)]
pub(crate) struct Command(Vec<Vec<u8>>);

impl Command {
    pub(crate) fn new(name: &str, key: impl Into<Vec<u8>>) -> Self {
        Self(vec![name.into(), key.into()])
    }

    #[must_use]
    pub(crate) fn arg(mut self, arg: impl Into<Vec<u8>>) -> Self {
        self.0.push(arg.into());
        self
    }

    #[must_use]
    pub(crate) fn number(self, number: impl std::fmt::Display) -> Self {
        self.arg(number.to_string())
    }

    /// Appends the number of parts, and the parts.
    fn add_to(&self, args: &mut Vec<Vec<u8>>) {
        args.push(self.0.len().to_string().into());
        args.extend(self.0.iter().cloned());
    }
}

/// The values that were read.
#[derive(Debug)]
pub(crate) struct Snapshot {
    /// The server's time.
    pub(crate) now: Timestamp,
    /// The numbers that were taken.
    pub(crate) numbers: Numbers,
    /// One answer per command.
    pub(crate) answers: std::vec::IntoIter<Value>,
}

impl Snapshot {
    pub(crate) fn next(&mut self) -> Result<Value, Failure> {
        self.answers.next().ok_or_else(|| damaged("a snapshot"))
    }
}

/// Numbers of one shard, in order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers {
    first: u64,
    step: u64,
}

impl Numbers {
    /// The number at a place, from 0.
    pub(crate) const fn at(self, place: usize) -> u64 {
        self.first + place as u64 * self.step
    }

    /// Those after the first few.
    pub(crate) const fn after(self, few: usize) -> Self {
        Self {
            first: self.at(few),
            ..self
        }
    }
}

/// A change to write.
#[derive(Clone, Debug, Default)]
pub(crate) struct Change {
    conditions: Vec<[Vec<u8>; 3]>,
    commands: Vec<Command>,
}

impl Change {
    /// Only if a field of a hash still has this value; an empty value means that the field does not exist.
    #[must_use]
    pub(crate) fn when(
        mut self,
        key: impl Into<Vec<u8>>,
        field: impl Into<Vec<u8>>,
        is: impl Into<Vec<u8>>,
    ) -> Self {
        self.conditions.push([key.into(), field.into(), is.into()]);
        self
    }

    pub(crate) fn then(&mut self, command: Command) -> &mut Self {
        self.commands.push(command);
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    fn add_to(&self, args: &mut Vec<Vec<u8>>) {
        args.push(self.conditions.len().to_string().into());
        args.extend(self.conditions.iter().flatten().cloned());
        args.push(self.commands.len().to_string().into());
        for command in &self.commands {
            command.add_to(args);
        }
    }
}

/// Whether a change may be written when the server is out of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// It needs memory, and is refused.
    Needed,
    /// It needs hardly any memory, or frees some.
    NotNeeded,
}

/// Whether a change was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Made {
    Yes,
    /// Another process was faster.
    No,
}

impl Link {
    /// Runs commands that only read, in one snapshot.
    pub(crate) async fn read(&self, shard: Shard, commands: Vec<Command>) -> Result<Snapshot, Failure> {
        self.read_and_take(shard, commands, 0).await
    }

    /// The same, and takes this many numbers.
    pub(crate) async fn read_and_take(
        &self,
        shard: Shard,
        commands: Vec<Command>,
        count: usize,
    ) -> Result<Snapshot, Failure> {
        let mut args = vec![self.floor(), count.to_string().into()];
        for command in &commands {
            command.add_to(&mut args);
        }
        let [now, number, answers] = reply::exactly(self.call(shard, &READ, &args).await?)?;
        let numbers = Numbers {
            first: reply::number(number)?,
            step: u64::from(self.shards().count()),
        };
        self.seen(numbers.at(count));
        Ok(Snapshot {
            now: Timestamp::from_micros(reply::number(now)? as i64),
            numbers,
            answers: reply::list(answers)?.into_iter(),
        })
    }

    /// Makes changes independently of each other.
    pub(crate) async fn apply(
        &self,
        shard: Shard,
        changes: &[Change],
        room: Room,
    ) -> Result<Vec<Made>, Failure> {
        let changes: Vec<&Change> = changes.iter().collect();
        let (made, _) = self.apply_and_wait(shard, &changes, room, 0).await?;
        Ok(made)
    }

    /// The same, then waits for this many replicas to have them. Returns how many do.
    pub(crate) async fn apply_and_wait(
        &self,
        shard: Shard,
        changes: &[&Change],
        room: Room,
        replicas: u8,
    ) -> Result<(Vec<Made>, u8), Failure> {
        if changes.is_empty() {
            return Ok((Vec::new(), 0));
        }
        let full = match room {
            Room::Needed => "",
            Room::NotNeeded => "full",
        };
        let mut args = vec![self.floor(), full.into()];
        for change in changes {
            change.add_to(&mut args);
        }
        let deadline = self.deadline();
        let waited = self
            .call_and_wait(shard, &APPLY, &args, replicas, deadline)
            .await?;
        let answers = reply::list(waited.value)?.into_iter();
        let made = |value| match reply::number(value)? {
            0 => Ok(Made::No),
            _ => Ok(Made::Yes),
        };
        Ok((answers.map(made).collect::<Result<_, _>>()?, waited.replicas))
    }

    /// Makes one change that needs hardly any memory.
    pub(crate) async fn apply_one(&self, shard: Shard, change: Change) -> Result<Made, Failure> {
        let made = self.apply(shard, &[change], Room::NotNeeded).await?;
        made.first()
            .copied()
            .ok_or_else(|| damaged("the answer to a change"))
    }
}
