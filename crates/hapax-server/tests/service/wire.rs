//! A client that sends exactly the given bytes, and a sink that records its requests.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hapax_core::problem::Code;
use hapax_listen as listen;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::service::service_fn;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Nothing here takes this long unless it is broken.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: String,
}

impl Reply {
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(super) fn header(&self, name: &str) -> Option<String> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        lines
            .into_iter()
            .find(|(found, _)| found.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.to_owned())
    }

    /// A problem document with this status and code.
    #[track_caller]
    pub(super) fn is_problem(&self, status: u16, code: &str) {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(
            self.header("content-type").as_deref(),
            Some("application/problem+json"),
            "{self:?}"
        );
        let document = self.json();
        assert_eq!(document["code"], code, "{self:?}");
        assert_eq!(document["status"], status);
        assert_eq!(document["type"], format!("urn:hapax:problem:{code}"));
        assert_eq!(document["explain"], format!("hapax explain {code}"));
        let known: Code = code.parse().unwrap();
        assert_eq!(
            (known.status(), document["title"].as_str()),
            (status, Some(known.title()))
        );
        assert!(!document["detail"].as_str().unwrap().is_empty());
    }
}

pub(super) struct Wire(Box<dyn Duplex>);

pub(super) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

impl Wire {
    pub(super) async fn open(address: SocketAddr) -> Self {
        Self::over(TcpStream::connect(address).await.unwrap())
    }

    pub(super) fn over(stream: impl Duplex + 'static) -> Self {
        Self(Box::new(stream))
    }

    /// From another address of this machine, for example 127.0.0.2.
    pub(super) async fn open_from(from: &str, address: SocketAddr) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(format!("{from}:0").parse().unwrap()).unwrap();
        Self::over(socket.connect(address).await.unwrap())
    }

    pub(super) async fn say(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).await.unwrap();
        self.0.flush().await.unwrap();
    }

    /// Writes it again and again until the other side closes.
    pub(super) async fn say_endlessly(&mut self, bytes: &[u8]) {
        let saying = async { while self.0.write_all(bytes).await.is_ok() {} };
        tokio::time::timeout(PATIENCE, saying)
            .await
            .expect("the connection is closed in time");
    }

    /// Reads one response.
    pub(super) async fn hear(&mut self) -> Reply {
        tokio::time::timeout(PATIENCE, self.read_reply())
            .await
            .expect("an answer in time")
    }

    /// Reads until the other side closes.
    pub(super) async fn hear_out(&mut self) -> Vec<u8> {
        let mut all = Vec::new();
        let read = tokio::time::timeout(PATIENCE, self.0.read_to_end(&mut all)).await;
        // A reset is a close too.
        let _ = read.expect("the connection is closed in time");
        all
    }

    pub(super) async fn post(&mut self, path: &str, headers: &[(String, String)], body: &[u8]) -> Reply {
        self.say(&request("POST", path, headers, body)).await;
        self.hear().await
    }

    async fn read_reply(&mut self) -> Reply {
        let mut bytes = Vec::new();
        loop {
            if let Some(reply) = parse(&bytes) {
                return reply;
            }
            let count = self.0.read_buf(&mut bytes).await.unwrap();
            assert!(count > 0, "closed after {:?}", String::from_utf8_lossy(&bytes));
        }
    }
}

pub(super) async fn post(
    address: SocketAddr,
    path: &str,
    headers: &[(String, String)],
    body: &[u8],
) -> Reply {
    Wire::open(address).await.post(path, headers, body).await
}

/// Any request, with a `Content-Length`.
pub(super) fn request(method: &str, path: &str, headers: &[(String, String)], body: &[u8]) -> Vec<u8> {
    let mut bytes = format!(
        "{method} {path} HTTP/1.1\r\nhost: test\r\ncontent-length: {}\r\n",
        body.len()
    )
    .into_bytes();
    for (name, value) in headers {
        bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(body);
    bytes
}

fn parse(bytes: &[u8]) -> Option<Reply> {
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status: u16 = head.split(' ').nth(1)?.parse().ok()?;
    let reply = Reply {
        status,
        head: head.to_owned(),
        body: body.to_owned(),
    };
    let expected: usize = reply
        .header("content-length")
        .map_or(0, |length| length.parse().unwrap());
    (body.len() >= expected).then_some(reply)
}

/// A request that a sink received.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// An HTTP server that answers as configured and passes on its requests.
pub(super) struct Sink {
    pub(super) address: SocketAddr,
    seen: mpsc::UnboundedReceiver<Seen>,
    stop: CancellationToken,
}

impl Sink {
    /// Answers 200.
    pub(super) async fn start() -> Self {
        Self::answering(|_| Response::new(Full::default())).await
    }

    pub(super) async fn answering(
        answer: impl Fn(&Seen) -> Response<Full<Bytes>> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (noted, seen) = mpsc::unbounded_channel();
        let stop = CancellationToken::new();
        let answer = Arc::new(answer);
        let service = service_fn(move |request: Request<listen::RequestBody>| {
            let (noted, answer) = (noted.clone(), Arc::clone(&answer));
            async move {
                let (head, body) = request.into_parts();
                let body = body.collect().await?.to_bytes();
                let request = Seen {
                    path: head.uri.to_string(),
                    headers: head.headers,
                    body,
                };
                let response = answer(&request);
                let _ = noted.send(request);
                Ok::<_, hyper::Error>(response)
            }
        });
        tokio::spawn(listen::serve(
            listener,
            listen::Limits::default(),
            listen::Front::default(),
            service,
            stop.clone(),
        ));
        Self { address, seen, stop }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    pub(super) async fn next(&mut self) -> Seen {
        tokio::time::timeout(PATIENCE, self.seen.recv())
            .await
            .expect("a request in time")
            .unwrap()
    }

    /// All requests that were not read yet.
    pub(super) fn rest(&mut self) -> Vec<Seen> {
        std::iter::from_fn(|| self.seen.try_recv().ok()).collect()
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
