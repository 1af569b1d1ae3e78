//! Attackers against a service on this machine: slow heads, slow bodies, large bodies that stall, large bodies without
//! a signature, floods of bad signatures.
//!
//! They run on one thread at the lowest priority and pause before they reconnect, because they share the machine with
//! the service: the benchmark is about the resources that the service lets them take, not the processor time that
//! sending costs.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::connection::Connection;

/// Just below the length that is refused without reading the body.
const LARGE_BODY_BYTES: usize = (5 << 20) - 1;
/// An unfinished head, of a length that most servers accept.
const HEAD_BYTES: usize = 12 * 1024;
/// Sent repeatedly.
static PIECE: [u8; 64 * 1024] = [b'x'; 64 * 1024];
/// Pause between two bytes of a slow request.
const TRICKLE: Duration = Duration::from_millis(500);
/// Pause before a closed connection is reopened.
const REST: Duration = Duration::from_millis(250);
/// The attacker itself closes a connection after this time.
const HELD_MAX: Duration = Duration::from_secs(60);
const NICEST: i32 = 19;

#[derive(Debug)]
pub struct Plan {
    pub address: SocketAddr,
    pub path: String,
    pub from: IpAddr,
    pub connections: u32,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    SlowHead,
    SlowBody,
    StalledBody,
    UnsignedBody,
    Flood,
}

const KINDS: [Kind; 5] = [
    Kind::SlowHead,
    Kind::SlowBody,
    Kind::StalledBody,
    Kind::UnsignedBody,
    Kind::Flood,
];

/// Attacks forever, on this thread; calls `ready` once every connection is open.
pub fn run(plan: Plan, ready: impl FnOnce() -> io::Result<()>) -> anyhow::Result<()> {
    rustix::process::nice(NICEST).context("the attack cannot lower its priority")?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let plan = Arc::new(plan);
        let mut attacks = JoinSet::new();
        for kind in KINDS.iter().cycle().take(plan.connections as usize) {
            let stream = plan
                .open()
                .await
                .with_context(|| format!("cannot connect from {} to {}", plan.from, plan.address))?;
            attacks.spawn(attack(*kind, stream, Arc::clone(&plan)));
        }
        ready()?;
        while attacks.join_next().await.is_some() {}
        Ok(())
    })
}

/// Uses one connection after another.
async fn attack(kind: Kind, mut stream: TcpStream, plan: Arc<Plan>) {
    loop {
        // Being disconnected is the point of the attack.
        let _ = timeout(HELD_MAX, plan.send(kind, stream)).await;
        stream = loop {
            sleep(REST).await;
            if let Ok(stream) = plan.open().await {
                break stream;
            }
        };
    }
}

impl Plan {
    async fn open(&self) -> io::Result<TcpStream> {
        let socket = match self.address {
            SocketAddr::V4(_) => TcpSocket::new_v4(),
            SocketAddr::V6(_) => TcpSocket::new_v6(),
        }?;
        socket.bind(SocketAddr::new(self.from, 0))?;
        socket.connect(self.address).await
    }

    async fn send(&self, kind: Kind, mut stream: TcpStream) -> io::Result<()> {
        match kind {
            Kind::SlowHead => {
                let beginning = format!("POST {} HTTP/1.1\r\nx-slow: ", self.path);
                stream.write_all(beginning.as_bytes()).await?;
                stream.write_all(&PIECE[..HEAD_BYTES]).await?;
                trickle(stream).await
            }
            Kind::SlowBody => {
                let head = self.head(BAD_SIGNATURE, LARGE_BODY_BYTES);
                stream.write_all(head.as_bytes()).await?;
                trickle(stream).await
            }
            Kind::StalledBody => {
                let head = self.head(BAD_SIGNATURE, LARGE_BODY_BYTES + 1);
                send_large(&mut stream, &head).await?;
                trickle(stream).await
            }
            Kind::UnsignedBody => {
                let head = self.head("", LARGE_BODY_BYTES + 1);
                send_large(&mut stream, &head).await?;
                trickle(stream).await
            }
            Kind::Flood => {
                let request = self.head(BAD_SIGNATURE, 2) + "{}";
                let mut connection = Connection::over(stream);
                while connection.exchange(request.as_bytes()).await.is_ok() {}
                Ok(())
            }
        }
    }

    fn head(&self, signature: &str, body_bytes: usize) -> String {
        let Self { path, address, .. } = self;
        format!("POST {path} HTTP/1.1\r\nhost: {address}\r\n{signature}content-length: {body_bytes}\r\n\r\n")
    }
}

/// In Stripe's format, so that only verification can reject it.
const BAD_SIGNATURE: &str = "stripe-signature: t=1700000000,v1=\
    0000000000000000000000000000000000000000000000000000000000000000\r\n";

/// Sends all but the last byte of the body.
async fn send_large(stream: &mut TcpStream, head: &str) -> io::Result<()> {
    stream.write_all(head.as_bytes()).await?;
    let mut left = LARGE_BODY_BYTES;
    while left > 0 {
        let count = left.min(PIECE.len());
        stream.write_all(&PIECE[..count]).await?;
        left -= count;
    }
    Ok(())
}

/// Sends a byte now and then, until the other side closes the connection.
async fn trickle(mut stream: TcpStream) -> io::Result<()> {
    let mut answer = [0; 1024];
    loop {
        match timeout(TRICKLE, stream.read(&mut answer)).await {
            Ok(Ok(0) | Err(_)) => return Ok(()),
            Ok(Ok(_)) => {}
            Err(_) => stream.write_all(b"x").await?,
        }
    }
}
