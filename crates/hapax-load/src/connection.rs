//! One keep-alive connection: it writes a request's bytes and reads an answer, nothing else. The service's client does
//! more, and whatever a client costs is taken from the server that is measured on the same machine.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::answer::{self, Malformed, Next, WireResponse};

const BUFFER_BYTES_FIRST: usize = 2 * 1024;
/// No expected answer is larger; `/metrics` and `/api/v1/stats` are the largest.
const ANSWER_BYTES_MAX: usize = 4 * 1024 * 1024;

/// A connection with the buffer its answers are read into.
pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// Why an exchange had no answer. The server may have acted on the request anyway.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Broken {
    /// The connection could not be made, or failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The server closed it before its answer was complete.
    #[error("the server closed the connection without a response")]
    Closed,
    /// The bytes received are not an answer.
    #[error("{0}")]
    Malformed(#[from] Malformed),
    /// The answer is larger than any expected one.
    #[error("the response is larger than {ANSWER_BYTES_MAX} bytes")]
    TooLarge,
    /// There was no answer in time.
    #[error("no response within {0:?}")]
    Late(Duration),
}

impl Connection {
    /// Connects with `TCP_NODELAY`: small requests must not wait for more bytes to join them.
    pub(crate) async fn open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self::over(stream))
    }

    /// Uses a stream that is already open.
    pub(crate) fn over(stream: TcpStream) -> Self {
        Self {
            stream,
            buffer: vec![0; BUFFER_BYTES_FIRST],
        }
    }

    /// Sends a request and reads its answer. After an error, or an answer with [`Next::Close`], the connection cannot
    /// be used again.
    pub(crate) async fn exchange(&mut self, request: &[u8]) -> Result<WireResponse, Broken> {
        self.stream.write_all(request).await?;
        let mut filled = 0;
        loop {
            let count = self.stream.read(&mut self.buffer[filled..]).await?;
            if count == 0 {
                return Err(Broken::Closed);
            }
            filled += count;
            if let Some(answer) = answer::parse(&self.buffer[..filled])? {
                return Ok(answer);
            }
            if filled == self.buffer.len() {
                self.grow()?;
            }
        }
    }

    /// The body of the last answer.
    pub(crate) fn body(&self, answer: &WireResponse) -> &[u8] {
        self.buffer.get(answer.body.clone()).unwrap_or_default()
    }

    /// The head of the last answer.
    pub(crate) fn head(&self, answer: &WireResponse) -> &[u8] {
        self.buffer.get(..answer.body.start).unwrap_or_default()
    }

    fn grow(&mut self) -> Result<(), Broken> {
        if self.buffer.len() >= ANSWER_BYTES_MAX {
            return Err(Broken::TooLarge);
        }
        self.buffer.resize(self.buffer.len() * 2, 0);
        Ok(())
    }
}

/// One GET on its own connection, within a time limit: for probes, not for load.
pub(crate) async fn get(
    address: SocketAddr,
    path: &str,
    token: &str,
    limit: Duration,
) -> Result<(u16, Vec<u8>), Broken> {
    let request = format!(
        "GET {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\r\n"
    );
    let exchange = async {
        let mut connection = Connection::open(address).await?;
        let answer = connection.exchange(request.as_bytes()).await?;
        Ok((answer.status, connection.body(&answer).to_vec()))
    };
    tokio::time::timeout(limit, exchange)
        .await
        .unwrap_or(Err(Broken::Late(limit)))
}

/// A connection that is opened on first use and again after it broke; each exchange has a time limit.
pub(crate) struct Reconnecting {
    address: SocketAddr,
    limit: Duration,
    connection: Option<Connection>,
}

impl Reconnecting {
    /// Does not connect yet.
    pub(crate) fn new(address: SocketAddr, limit: Duration) -> Self {
        Self {
            address,
            limit,
            connection: None,
        }
    }

    /// Sends a request and applies `read` to the status and body of its answer.
    pub(crate) async fn exchange<T>(
        &mut self,
        request: &[u8],
        read: impl FnOnce(u16, &[u8]) -> T,
    ) -> Result<T, Broken> {
        // Taken out during the exchange: after a failure or a timeout, it must not be used again.
        let taken = self.connection.take();
        let address = self.address;
        let exchange = async {
            let mut connection = match taken {
                Some(connection) => connection,
                None => Connection::open(address).await?,
            };
            let answer = connection.exchange(request).await?;
            Ok::<_, Broken>((connection, answer))
        };
        let limit = self.limit;
        let (connection, answer) = tokio::time::timeout(limit, exchange)
            .await
            .unwrap_or(Err(Broken::Late(limit)))?;
        let result = read(answer.status, connection.body(&answer));
        if answer.next == Next::Open {
            self.connection = Some(connection);
        }
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn an_answer_larger_than_the_first_buffer_is_read_whole() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let body = vec![b'x'; BUFFER_BYTES_FIRST * 3];
        let expected = body.clone();
        let server = async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = [0; 512];
            assert!(stream.read(&mut request).await.unwrap() > 0);
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
            // One byte at a time at first: the parser must handle every split of the head.
            for byte in head.as_bytes() {
                stream.write_all(&[*byte]).await.unwrap();
                stream.flush().await.unwrap();
            }
            stream.write_all(&body).await.unwrap();
        };
        let ((), got) = tokio::join!(server, get(address, "/", "t", Duration::from_secs(10)));
        assert_eq!(got.unwrap(), (200, expected));
    }

    #[tokio::test]
    async fn a_server_that_hangs_up_is_broken_and_not_an_answer() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = async move { drop(listener.accept().await.unwrap()) };
        let ((), got) = tokio::join!(server, get(address, "/", "t", Duration::from_secs(10)));
        assert!(matches!(got, Err(Broken::Closed | Broken::Io(_))), "{got:?}");
    }
}
