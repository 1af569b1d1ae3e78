//! As much of the Redis protocol as tests need to inspect and change data: one command, one reply.

use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::ServerError;

/// How long one reply may take.
const ANSWER_MAX: Duration = Duration::from_secs(5);

/// A server's reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// A status or a value.
    Value(Vec<u8>),
    Number(i64),
    Nil,
    List(Vec<Reply>),
    /// An error, such as `OOM command not allowed …`.
    Error(String),
}

impl Reply {
    /// The value as a string; empty if it is not a value.
    pub fn text(&self) -> String {
        match self {
            Self::Value(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Self::Number(number) => number.to_string(),
            Self::Error(said) => said.clone(),
            Self::Nil | Self::List(_) => String::new(),
        }
    }

    /// The replies in a list; none if it is not a list.
    pub fn list(&self) -> &[Reply] {
        match self {
            Self::List(replies) => replies,
            Self::Value(_) | Self::Number(_) | Self::Nil | Self::Error(_) => &[],
        }
    }

    /// The number, if it is one.
    pub const fn number(&self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Value(_) | Self::Nil | Self::List(_) | Self::Error(_) => None,
        }
    }
}

#[derive(Debug)]
pub struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    pub(crate) fn open(port: u16) -> Result<Self, ServerError> {
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let stream = TcpStream::connect_timeout(&address, ANSWER_MAX)
            .and_then(|stream| {
                stream.set_read_timeout(Some(ANSWER_MAX))?;
                stream.set_nodelay(true)?;
                Ok(stream)
            })
            .map_err(ServerError::io("connecting to the test server"))?;
        Ok(Self {
            stream: BufReader::new(stream),
        })
    }

    /// Sends a command. An error reply is returned as an error.
    pub fn call<A: AsRef<[u8]>>(&mut self, command: &[A]) -> Result<Reply, ServerError> {
        match self.ask(command)? {
            Reply::Error(said) => Err(ServerError::Refused { said }),
            reply => Ok(reply),
        }
    }

    /// Sends a command, and returns any reply.
    pub fn ask<A: AsRef<[u8]>>(&mut self, command: &[A]) -> Result<Reply, ServerError> {
        let mut bytes = format!("*{}\r\n", command.len()).into_bytes();
        for argument in command {
            let argument = argument.as_ref();
            bytes.extend_from_slice(format!("${}\r\n", argument.len()).as_bytes());
            bytes.extend_from_slice(argument);
            bytes.extend_from_slice(b"\r\n");
        }
        self.stream
            .get_mut()
            .write_all(&bytes)
            .and_then(|()| self.reply())
            .map_err(ServerError::io("asking the test server"))
    }

    fn reply(&mut self) -> std::io::Result<Reply> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let line = line.trim_end();
        let Some((kind, rest)) = line.split_at_checked(1) else {
            return Err(ErrorKind::UnexpectedEof.into());
        };
        match kind {
            "+" => Ok(Reply::Value(rest.as_bytes().to_vec())),
            "-" => Ok(Reply::Error(rest.to_owned())),
            ":" => Ok(Reply::Number(number(rest)?)),
            "$" => self.value(number(rest)?),
            "*" => self.list(number(rest)?),
            other => Err(Error::new(
                ErrorKind::InvalidData,
                format!("an answer begins with {other}"),
            )),
        }
    }

    fn value(&mut self, length: i64) -> std::io::Result<Reply> {
        let Ok(length) = usize::try_from(length) else {
            return Ok(Reply::Nil);
        };
        let mut bytes = vec![0; length + 2];
        self.stream.read_exact(&mut bytes)?;
        bytes.truncate(length);
        Ok(Reply::Value(bytes))
    }

    fn list(&mut self, length: i64) -> std::io::Result<Reply> {
        if length < 0 {
            return Ok(Reply::Nil);
        }
        (0..length)
            .map(|_| self.reply())
            .collect::<Result<_, _>>()
            .map(Reply::List)
    }
}

fn number(text: &str) -> std::io::Result<i64> {
    text.parse()
        .map_err(|_| Error::new(ErrorKind::InvalidData, "a length is not a number"))
}
