//! A bare socket, for bytes that no well-behaved client would send.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::within;

/// A connection that sends any bytes.
pub struct RawConnection(TcpStream);

impl RawConnection {
    pub async fn to(address: SocketAddr) -> Self {
        Self(TcpStream::connect(address).await.unwrap())
    }

    pub async fn write(&mut self, bytes: impl AsRef<[u8]>) -> std::io::Result<()> {
        self.0.write_all(bytes.as_ref()).await
    }

    /// Closes the writing side; the other side may already have closed.
    pub async fn finish_writing(&mut self) {
        let _ = self.0.shutdown().await;
    }

    /// Reads until the other side closes. A reset counts as a close.
    pub async fn read_until_closed(&mut self, limit: Duration) -> String {
        let mut bytes = Vec::new();
        let reading = async { while matches!(self.0.read_buf(&mut bytes).await, Ok(count) if count > 0) {} };
        within("the other side closes the connection", limit, reading).await;
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Reads until the response is complete or the other side closes.
    pub async fn read_answer(&mut self, limit: Duration) -> String {
        let mut bytes = Vec::new();
        let reading = async {
            while !is_whole(&bytes) && matches!(self.0.read_buf(&mut bytes).await, Ok(count) if count > 0) {}
        };
        within("an answer comes", limit, reading).await;
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Sends the chunk this often, unless a response arrives first; returns that response.
    pub async fn write_unless_answered(&mut self, chunk: &[u8], times: usize) -> Option<String> {
        let (mut reader, mut writer) = self.0.split();
        let writing = async {
            for _ in 0..times {
                if writer.write_all(chunk).await.is_err() {
                    // The other side has closed; its last bytes are still to be read.
                    return std::future::pending().await;
                }
            }
        };
        let mut bytes = Vec::new();
        let reading = async {
            while !is_whole(&bytes) && matches!(reader.read_buf(&mut bytes).await, Ok(count) if count > 0) {}
        };
        let answered = tokio::select! { () = reading => true, () = writing => false };
        answered.then(|| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Sends the bytes, then nothing for `pause`. Returns the response if the other side has closed by then.
    pub async fn write_slowly(&mut self, bytes: &[u8], pause: Duration) -> Option<String> {
        let written = self.0.write_all(bytes).await;
        let mut said = Vec::new();
        let reading = async { while matches!(self.0.read_buf(&mut said).await, Ok(count) if count > 0) {} };
        let closed = tokio::time::timeout(pause, reading).await.is_ok() || written.is_err();
        closed.then(|| String::from_utf8_lossy(&said).into_owned())
    }
}

fn is_whole(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes).to_ascii_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .and_then(|text| text.parse().ok());
    body.len() >= length.unwrap_or(0)
}
