//! HTTP/2 frame by frame, for clients that do what no library would. The attack suite uses this file, too.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use hapax_outbound::tls::{Tls, Trust};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PING: u8 = 6;
pub const GOAWAY: u8 = 7;
pub const CONTINUATION: u8 = 9;

pub const END_HEADERS: u8 = 4;
/// The error code for a stream beyond the limit.
pub const REFUSED_STREAM: [u8; 4] = [0, 0, 0, 7];

#[derive(Debug)]
pub struct Frame {
    pub kind: u8,
    pub stream: u32,
    pub payload: Vec<u8>,
}

/// A TLS connection that negotiates this protocol. `cert` is the certificate that it trusts.
pub async fn tls(socket: TcpStream, cert: PathBuf, protocol: &str) -> TlsStream<TcpStream> {
    let trust = Trust::Exactly(cert);
    let mut config = Tls {
        trust,
        identity: None,
    }
    .config()
    .unwrap();
    config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
    let name = "localhost".try_into().unwrap();
    let connected = TlsConnector::from(Arc::new(config)).connect(name, socket).await;
    let stream = connected.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(protocol.as_bytes()));
    stream
}

/// A connection after its preface.
pub struct Frames(TlsStream<TcpStream>);

impl Frames {
    pub async fn open(stream: TlsStream<TcpStream>) -> Self {
        let mut frames = Self(stream);
        frames
            .0
            .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            .await
            .unwrap();
        frames.say(SETTINGS, 0, 0, &[]).await.unwrap();
        frames
    }

    pub async fn say(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> io::Result<()> {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        let mut bytes = vec![length[1], length[2], length[3], kind, flags];
        bytes.extend(stream.to_be_bytes());
        bytes.extend(payload);
        self.0.write_all(&bytes).await?;
        self.0.flush().await
    }

    /// Returns once the server has read everything that was said.
    pub async fn until_read(&mut self) {
        const MARK: &[u8] = b"all read";
        self.say(PING, 0, 0, MARK).await.unwrap();
        while let Some(frame) = self.hear().await {
            if frame.kind == PING && frame.payload == MARK {
                return;
            }
        }
        panic!("the connection ended");
    }

    /// The next frame; `None` if the connection ends.
    pub async fn hear(&mut self) -> Option<Frame> {
        let mut head = [0; 9];
        self.0.read_exact(&mut head).await.ok()?;
        let [a, b, c, kind, _flags, stream @ ..] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        self.0.read_exact(&mut payload).await.ok()?;
        let stream = u32::from_be_bytes(stream);
        Some(Frame {
            kind,
            stream,
            payload,
        })
    }

    /// Reads until the connection ends; returns whether the server sent GOAWAY.
    pub async fn hear_out(&mut self) -> bool {
        let mut is_told = false;
        while let Some(frame) = self.hear().await {
            is_told |= frame.kind == GOAWAY;
        }
        is_told
    }
}

/// The head of `POST /in/stripe` with these headers, as HPACK without compression.
pub fn head(headers: &[(String, String)]) -> Vec<u8> {
    // POST and https by their index in the table of RFC 7541; then the path and the host by the index of their names.
    let mut block = vec![0x83, 0x87, 0x04];
    push(&mut block, "/in/stripe");
    block.push(0x01);
    push(&mut block, "localhost");
    for (name, value) in headers {
        block.push(0x00);
        push(&mut block, name);
        push(&mut block, value);
    }
    block
}

fn push(block: &mut Vec<u8>, text: &str) {
    let mut rest = text.len();
    if rest < 0x7f {
        block.push(rest as u8);
    } else {
        block.push(0x7f);
        rest -= 0x7f;
        while rest >= 0x80 {
            block.push((rest % 0x80) as u8 | 0x80);
            rest /= 0x80;
        }
        block.push(rest as u8);
    }
    block.extend(text.as_bytes());
}
