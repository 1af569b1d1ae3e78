//! Server-sent events, as the live tail sends them.

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

use crate::Error;

/// Longest message that is read; the service sends small ones.
const MESSAGE_BYTES_MAX: usize = 1024 * 1024;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    pub event: String,
    pub data: String,
}

/// A stream of messages.
pub struct Messages {
    body: Incoming,
    url: String,
    parser: Parser,
}

impl Messages {
    pub(crate) fn new(body: Incoming, url: String) -> Self {
        Self {
            body,
            url,
            parser: Parser::default(),
        }
    }

    /// The next message; `None` when the service ends the stream.
    pub async fn next(&mut self) -> Result<Option<Message>, Error> {
        loop {
            if let Some(message) = self.parser.take() {
                return Ok(Some(message));
            }
            if self.parser.pending.len() > MESSAGE_BYTES_MAX {
                let message = format!("a message of the stream is larger than {MESSAGE_BYTES_MAX} bytes");
                return Err(Error::Unexpected {
                    url: self.url.clone(),
                    message,
                });
            }
            match self.body.frame().await {
                None => return Ok(None),
                Some(Ok(frame)) => self.parser.push(&frame.into_data().unwrap_or_default()),
                Some(Err(error)) => {
                    return Err(Error::Broken {
                        url: self.url.clone(),
                        source: Box::new(error),
                    });
                }
            }
        }
    }
}

#[derive(Default)]
struct Parser {
    pending: Vec<u8>,
}

impl Parser {
    fn push(&mut self, bytes: &Bytes) {
        self.pending.extend_from_slice(bytes);
    }

    /// The next complete message. Comments, which keep the connection alive, are skipped.
    fn take(&mut self) -> Option<Message> {
        loop {
            let end = self.pending.windows(2).position(|pair| pair == b"\n\n")?;
            let block: Vec<u8> = self.pending.drain(..end + 2).collect();
            let mut message = Message::default();
            for line in String::from_utf8_lossy(&block).lines() {
                let (name, value) = line.split_once(':').unwrap_or((line, ""));
                let value = value.strip_prefix(' ').unwrap_or(value);
                match name {
                    "event" => value.clone_into(&mut message.event),
                    "data" if message.data.is_empty() => value.clone_into(&mut message.data),
                    "data" => {
                        message.data.push('\n');
                        message.data.push_str(value);
                    }
                    _ => {}
                }
            }
            if !message.data.is_empty() {
                return Some(message);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_found_however_the_bytes_are_cut() {
        let bytes =
            b": alive\n\nevent: arrival\nid: 1\ndata: {\"a\":1}\n\nevent: lagged\ndata: {\"missed\":2}\n\n";
        for size in 1..bytes.len() {
            let (mut parser, mut found) = (Parser::default(), Vec::new());
            for part in bytes.chunks(size) {
                parser.push(&Bytes::copy_from_slice(part));
                while let Some(message) = parser.take() {
                    found.push((message.event, message.data));
                }
            }
            let expected = [("arrival", "{\"a\":1}"), ("lagged", "{\"missed\":2}")];
            assert_eq!(
                found,
                expected.map(|(event, data)| (event.to_owned(), data.to_owned()))
            );
        }
    }
}
