//! Failures between the store and a server, and whether the call may be sent again.

use std::fmt;

use hapax_core::store::Error;
use redis::{ErrorKind, RedisError, ServerErrorKind};

use crate::url::Node;

/// Why a call has no answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It never began: nothing was sent, or the server refused it before running it.
    NotBegun(Cause),
    /// It is unknown whether it ran.
    Unknown(Cause),
    /// The server is out of memory, and wrote nothing.
    NoRoom(RedisError),
    /// Fewer replicas than requested have the write; the master does.
    FewReplicas { asked: u8, have: u8 },
    /// Too many calls are in progress.
    TooMany,
    /// Stored data, or a script's answer, cannot be read.
    Damaged(String),
    /// It is not allowed.
    Rejected(String),
    /// Other processes kept changing the same data.
    Contended,
}

/// Where it went wrong.
#[derive(Debug)]
pub(crate) enum Cause {
    /// A server returned an error, or a connection broke.
    Server(Box<RedisError>),
    /// There was no answer in time.
    Silent,
    /// The cluster names no master for a slot.
    NoMaster(u16),
}

/// What to do with a call that has not begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Send it to this server, which has the slot now.
    To(Node),
    /// Find out who has the slot, and send it again in a moment.
    Later,
    /// Send the text of the script.
    WithText,
    /// Give up: it would be refused again.
    Never,
}

impl Failure {
    /// The meaning of a server's error.
    pub(crate) fn of(error: RedisError) -> Self {
        match error.kind() {
            ErrorKind::Server(_) | ErrorKind::Extension => match error.code() {
                Some("OOM") => Self::NoRoom(error),
                Some("ERR") | None => Self::Damaged(error.to_string()),
                Some(_) => Self::NotBegun(Cause::Server(Box::new(error))),
            },
            ErrorKind::AuthenticationFailed => Self::NotBegun(Cause::Server(Box::new(error))),
            _ => Self::Unknown(Cause::Server(Box::new(error))),
        }
    }

    /// What to do next with a call that has not begun.
    pub(crate) fn next(&self) -> Next {
        let Self::NotBegun(cause) = self else {
            return Next::Never;
        };
        let Cause::Server(error) = cause else {
            return Next::Later;
        };
        if error.code() == Some("BUSY") {
            return Next::Later;
        }
        match error.kind() {
            ErrorKind::Server(ServerErrorKind::NoScript) => Next::WithText,
            ErrorKind::Server(ServerErrorKind::Moved) => {
                let node = error.redirect_node().and_then(|(node, _)| Node::parse(node).ok());
                node.map_or(Next::Later, Next::To)
            }
            ErrorKind::Server(
                ServerErrorKind::Ask
                | ServerErrorKind::TryAgain
                | ServerErrorKind::ClusterDown
                | ServerErrorKind::BusyLoading
                | ServerErrorKind::MasterDown
                | ServerErrorKind::ReadOnly,
            )
            | ErrorKind::Io => Next::Later,
            _ => Next::Never,
        }
    }

    /// The failure as an error of the store's contract.
    pub(crate) fn into_error(self) -> Error {
        match self {
            Self::NotBegun(cause) | Self::Unknown(cause) => cause.into_error(),
            Self::NoRoom(error) => Error::unavailable(
                "Redis is out of memory (`maxmemory`): raise it, or shorten `payload_retention`; nothing was stored",
                error,
            ),
            Self::FewReplicas { asked, have } => Error::Unavailable {
                message: format!(
                    "only {have} of the {asked} replicas that the source waits for have the event (`redis.wait`)"
                ),
                source: None,
            },
            Self::TooMany => Error::Overloaded,
            Self::Damaged(message) => Error::Damaged {
                message,
                source: None,
            },
            Self::Rejected(message) => Error::Rejected { message },
            Self::Contended => Error::Unavailable {
                message: "other processes kept changing the same data".to_owned(),
                source: None,
            },
        }
    }
}

impl Cause {
    fn into_error(self) -> Error {
        match self {
            Self::Server(error) => Error::unavailable("the call to Redis failed", *error),
            Self::Silent => Error::Unavailable {
                message: "Redis did not answer in time".to_owned(),
                source: None,
            },
            Self::NoMaster(slot) => Error::Unavailable {
                message: format!("the cluster has no master for slot {slot}"),
                source: None,
            },
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotBegun(Cause::Server(error)) | Self::Unknown(Cause::Server(error)) => error.fmt(f),
            Self::NoRoom(error) => error.fmt(f),
            Self::NotBegun(Cause::Silent) | Self::Unknown(Cause::Silent) => {
                f.write_str("no response in time")
            }
            Self::NotBegun(Cause::NoMaster(slot)) | Self::Unknown(Cause::NoMaster(slot)) => {
                write!(f, "no master for slot {slot}")
            }
            Self::FewReplicas { asked, have } => write!(f, "{have} of {asked} replicas"),
            Self::TooMany => f.write_str("too many calls"),
            Self::Damaged(message) | Self::Rejected(message) => f.write_str(message),
            Self::Contended => f.write_str("contended"),
        }
    }
}

/// The answer of a script is not what it should be.
pub(crate) fn damaged(what: &str) -> Failure {
    Failure::Damaged(format!(
        "{what} cannot be read: it was written by something else, or by a newer version"
    ))
}
