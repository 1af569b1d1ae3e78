//! The plans: the ways in which duplicates of an event reach a handler, and the deliveries that it must refuse.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// The maximum number of simultaneous duplicates.
pub const COPIES_MAX: u32 = 256;
/// The maximum number of other events before a late duplicate.
pub const OTHERS_MAX: u32 = 1_000;

const COPIES_DEFAULT: u32 = 8;
const OTHERS_DEFAULT: u32 = 5;

/// One way to deliver an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plan {
    /// A duplicate right after the first delivery was answered.
    Again,
    /// This many duplicates at the same moment.
    Concurrent(u32),
    /// The provider disconnects before the response, and retries until it gets a 2xx.
    HangUp,
    /// A duplicate arrives while the first delivery is still being handled.
    Slow,
    /// A duplicate arrives after this many other events.
    Late(u32),
    /// An older event arrives after a newer one.
    OutOfOrder,
    /// The command kills and restarts the handler in the middle of a delivery; the provider retries.
    Crash(String),
    /// A dependency of the handler is unavailable during the first attempt: the command is run with `down` before it
    /// and with `up` after it.
    Outage(String),
    /// A delivery without its signature, which must be refused.
    Unsigned,
    /// A delivery whose body was changed after it was signed, which must be refused.
    Tampered,
    /// A delivery that was signed long ago, which must be refused.
    Stale,
}

impl Plan {
    /// Every plan that needs only the handler's URL.
    pub fn standard() -> Vec<Self> {
        vec![
            Self::Again,
            Self::Concurrent(COPIES_DEFAULT),
            Self::HangUp,
            Self::Slow,
            Self::Late(OTHERS_DEFAULT),
            Self::OutOfOrder,
            Self::Unsigned,
            Self::Tampered,
            Self::Stale,
        ]
    }
}

/// The string is not a plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAPlan {
    /// The name is unknown.
    #[error(
        "there is no plan `{0}`; the plans are again, concurrent:N, hang-up, slow, late:N, out-of-order, crash:COMMAND, \
         outage:COMMAND, unsigned, tampered and stale"
    )]
    Unknown(String),
    /// The number is invalid or out of range.
    #[error("`{text}` needs a number from {min} to {max} after the colon")]
    Number {
        /// The given text.
        text: String,
        /// The smallest number.
        min: u32,
        /// The largest number.
        max: u32,
    },
    /// The command is missing.
    #[error("`{0}` needs a command after a colon: write {0}:COMMAND")]
    CommandMissing(String),
    /// The plan takes no argument.
    #[error("`{0}` takes no argument after a colon")]
    Argument(String),
}

impl FromStr for Plan {
    type Err = NotAPlan;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, argument) = match text.split_once(':') {
            Some((name, argument)) => (name, Some(argument)),
            None => (text, None),
        };
        let number = |default, min, max| match argument {
            None => Ok(default),
            Some(argument) => in_range(text, argument, min, max),
        };
        let plan = match name {
            "concurrent" => return number(COPIES_DEFAULT, 2, COPIES_MAX).map(Self::Concurrent),
            "late" => return number(OTHERS_DEFAULT, 1, OTHERS_MAX).map(Self::Late),
            "crash" => return command(name, argument).map(Self::Crash),
            "outage" => return command(name, argument).map(Self::Outage),
            "again" => Self::Again,
            "hang-up" => Self::HangUp,
            "slow" => Self::Slow,
            "out-of-order" => Self::OutOfOrder,
            "unsigned" => Self::Unsigned,
            "tampered" => Self::Tampered,
            "stale" => Self::Stale,
            other => return Err(NotAPlan::Unknown(other.to_owned())),
        };
        match argument {
            None => Ok(plan),
            Some(_) => Err(NotAPlan::Argument(name.to_owned())),
        }
    }
}

fn command(name: &str, argument: Option<&str>) -> Result<String, NotAPlan> {
    let command = argument.map(str::trim).filter(|command| !command.is_empty());
    command
        .map(str::to_owned)
        .ok_or_else(|| NotAPlan::CommandMissing(name.to_owned()))
}

fn in_range(text: &str, argument: &str, min: u32, max: u32) -> Result<u32, NotAPlan> {
    let number = argument
        .parse()
        .ok()
        .filter(|number| (min..=max).contains(number));
    number.ok_or_else(|| NotAPlan::Number {
        text: text.to_owned(),
        min,
        max,
    })
}

impl fmt::Display for Plan {
    /// The command is omitted: it is long, and may contain a password.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Again => formatter.write_str("again"),
            Self::Concurrent(times) => write!(formatter, "concurrent:{times}"),
            Self::HangUp => formatter.write_str("hang-up"),
            Self::Slow => formatter.write_str("slow"),
            Self::Late(others) => write!(formatter, "late:{others}"),
            Self::OutOfOrder => formatter.write_str("out-of-order"),
            Self::Crash(_) => formatter.write_str("crash"),
            Self::Outage(_) => formatter.write_str("outage"),
            Self::Unsigned => formatter.write_str("unsigned"),
            Self::Tampered => formatter.write_str("tampered"),
            Self::Stale => formatter.write_str("stale"),
        }
    }
}

impl Serialize for Plan {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_plan_reads_back_as_itself() {
        for plan in Plan::standard() {
            assert_eq!(plan.to_string().parse(), Ok(plan));
        }
        assert_eq!("concurrent".parse(), Ok(Plan::Concurrent(8)));
        assert_eq!(
            "crash:kill `cat a:pid`".parse(),
            Ok(Plan::Crash("kill `cat a:pid`".to_owned()))
        );
    }

    #[test]
    fn what_is_no_plan_is_refused_with_what_to_write() {
        for text in [
            "",
            "twice",
            "concurrent:1",
            "concurrent:x",
            "late:0",
            "crash",
            "crash: ",
            "again:2",
        ] {
            assert!(text.parse::<Plan>().is_err(), "{text}");
        }
        let error = "concurrent:1000".parse::<Plan>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "`concurrent:1000` needs a number from 2 to 256 after the colon"
        );
    }
}
