//! A connection on which a test sends exactly the bytes it wants, also those that no well-behaved client would send.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use super::{HttpResponse, PATIENCE, within};

pub struct Wire {
    stream: Box<dyn Duplex>,
    /// What has arrived and was not returned yet.
    heard: Vec<u8>,
    patience: Duration,
}

pub trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

impl Wire {
    pub async fn open(address: SocketAddr) -> Self {
        Self::over(TcpStream::connect(address).await.unwrap())
    }

    /// From another address of this machine, for example 127.0.0.2.
    pub async fn open_from(from: &str, address: SocketAddr) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(format!("{from}:0").parse().unwrap()).unwrap();
        Self::over(socket.connect(address).await.unwrap())
    }

    pub fn over(stream: impl Duplex + 'static) -> Self {
        Self {
            stream: Box::new(stream),
            heard: Vec::new(),
            patience: PATIENCE,
        }
    }

    /// Waits this long for what must come.
    pub fn patient_for(mut self, limit: Duration) -> Self {
        self.patience = limit;
        self
    }

    pub async fn say(&mut self, bytes: &[u8]) {
        self.try_say(bytes).await.unwrap();
    }

    /// The same to a service that may close in the middle.
    pub async fn try_say(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await?;
        self.stream.flush().await
    }

    /// Writes it again and again until the other side closes.
    pub async fn say_endlessly(&mut self, bytes: &[u8]) {
        let (stream, limit) = (&mut self.stream, self.patience);
        let saying = async { while stream.write_all(bytes).await.is_ok() {} };
        within("the connection is closed", limit, saying).await;
    }

    /// Writes it this often, unless a response arrives first; returns that response.
    pub async fn say_unless_answered(&mut self, bytes: &[u8], times: usize) -> Option<HttpResponse> {
        let (mut reader, mut writer) = tokio::io::split(&mut self.stream);
        let saying = async {
            for _ in 0..times {
                if writer.write_all(bytes).await.is_err() {
                    // The other side has closed; its last bytes are still to be read.
                    return std::future::pending().await;
                }
            }
        };
        tokio::select! {
            answer = hear(&mut reader, &mut self.heard) => Some(answer),
            () = saying => None,
        }
    }

    /// Writes the bytes, then nothing for `pause`. Returns what it heard if the other side has closed by then.
    pub async fn say_slowly(&mut self, bytes: &[u8], pause: Duration) -> Option<String> {
        let written = self.stream.write_all(bytes).await;
        let closed = tokio::time::timeout(pause, self.read_until_closed())
            .await
            .is_ok()
            || written.is_err();
        closed.then(|| self.take_heard())
    }

    /// Closes the writing side; the other side may already have closed.
    pub async fn finish_writing(&mut self) {
        let _ = self.stream.shutdown().await;
    }

    /// Reads one response.
    pub async fn hear(&mut self) -> HttpResponse {
        within(
            "an answer comes",
            self.patience,
            hear(&mut self.stream, &mut self.heard),
        )
        .await
    }

    /// Reads until what was not returned yet satisfies the condition.
    pub async fn hear_until(&mut self, what: &str, is_there: impl Fn(&str) -> bool) -> String {
        let (stream, heard, limit) = (&mut self.stream, &mut self.heard, self.patience);
        let hearing = async {
            while !is_there(&String::from_utf8_lossy(heard)) {
                hear_more(stream, heard).await;
            }
        };
        within(what, limit, hearing).await;
        self.take_heard()
    }

    /// Reads until the other side closes.
    pub async fn hear_out(&mut self) -> String {
        within(
            "the other side closes the connection",
            self.patience,
            self.read_until_closed(),
        )
        .await;
        self.take_heard()
    }

    /// Sends a request and reads the response.
    pub async fn ask(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(String, String)],
        body: &[u8],
    ) -> HttpResponse {
        self.say(&request(method, path, headers, body)).await;
        self.hear().await
    }

    pub async fn post(&mut self, path: &str, headers: &[(String, String)], body: &[u8]) -> HttpResponse {
        self.ask("POST", path, headers, body).await
    }

    /// A reset is a close, too.
    async fn read_until_closed(&mut self) {
        while matches!(self.stream.read_buf(&mut self.heard).await, Ok(count) if count > 0) {}
    }

    fn take_heard(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.heard)).into_owned()
    }
}

async fn hear(stream: &mut (impl AsyncRead + Unpin), heard: &mut Vec<u8>) -> HttpResponse {
    loop {
        if let Some((response, length)) = HttpResponse::parse(heard) {
            heard.drain(..length);
            return response;
        }
        hear_more(stream, heard).await;
    }
}

async fn hear_more(stream: &mut (impl AsyncRead + Unpin), heard: &mut Vec<u8>) {
    let count = stream.read_buf(heard).await.unwrap();
    assert!(count > 0, "closed after {:?}", String::from_utf8_lossy(heard));
}

pub async fn post(
    address: SocketAddr,
    path: &str,
    headers: &[(String, String)],
    body: &[u8],
) -> HttpResponse {
    Wire::open(address).await.post(path, headers, body).await
}

/// Any request, with a `Content-Length`, and with a `Host` that no one serves unless the headers name one.
pub fn request(method: &str, path: &str, headers: &[(String, String)], body: &[u8]) -> Vec<u8> {
    let mut head = format!("{method} {path} HTTP/1.1\r\ncontent-length: {}\r\n", body.len());
    if !headers.iter().any(|(name, _)| name == "host") {
        head.push_str("host: test\r\n");
    }
    for (name, value) in headers {
        head.extend([name.as_str(), ": ", value, "\r\n"]);
    }
    head.push_str("\r\n");
    [head.as_bytes(), body].concat()
}
