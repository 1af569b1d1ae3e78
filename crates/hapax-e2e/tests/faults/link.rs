//! A network link to a database under our control: cut, slow, silently dead, or broken at the worst moment.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

/// The bytes of a write on the wire, and those that confirm it.
#[derive(Clone, Copy)]
pub(super) struct Language {
    write: &'static [u8],
    written: &'static [u8],
}

/// A simple query `COMMIT` as it is on the wire: both the store and `tokio-postgres` send it.
pub(super) const POSTGRES: Language = Language {
    write: b"Q\0\0\0\x0bCOMMIT\0",
    written: b"COMMIT\0",
};

/// A script call, and any response to it.
pub(super) const REDIS: Language = Language {
    write: b"EVALSHA",
    written: b"\r\n",
};

/// The most that is forwarded at a time.
const PIECE_BYTES: usize = 64 << 10;

/// The state of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mood {
    Through,
    /// Every connection is closed, and no new one is accepted.
    Cut,
    /// Every piece takes this much longer, in both directions.
    Slow(Duration),
    /// Connections stay open, but nothing is forwarded.
    HalfOpen,
    /// The next write reaches the server and succeeds; its response is dropped, and the connection is closed.
    LoseAnswer,
}

/// A proxy on its own port. It ends when dropped.
pub(super) struct Link {
    port: u16,
    shared: Arc<Shared>,
    proxy: JoinHandle<()>,
}

struct Shared {
    language: Language,
    mood: watch::Sender<Mood>,
    answers_lost: AtomicUsize,
}

impl Link {
    pub(super) async fn to_port(server: u16, language: Language) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            language,
            mood: watch::Sender::new(Mood::Through),
            answers_lost: AtomicUsize::new(0),
        });
        let server = SocketAddr::from((Ipv4Addr::LOCALHOST, server));
        let proxy = tokio::spawn(listen(listener, server, Arc::clone(&shared)));
        Self { port, shared, proxy }
    }

    /// The URL of a database through this link.
    pub(super) fn url(&self, database: &str) -> String {
        format!(
            "postgres://postgres@127.0.0.1:{}/{database}?sslmode=disable",
            self.port
        )
    }

    /// The port of a server through this link.
    pub(super) const fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn set(&self, mood: Mood) {
        self.shared.mood.send_replace(mood);
    }

    /// How many responses were dropped.
    pub(super) fn answers_lost(&self) -> usize {
        self.shared.answers_lost.load(Ordering::SeqCst)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.proxy.abort();
    }
}

async fn listen(listener: TcpListener, server: SocketAddr, shared: Arc<Shared>) {
    let mut pairs = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        while pairs.try_join_next().is_some() {}
        if *shared.mood.borrow() == Mood::Cut {
            continue;
        }
        if let Ok(server) = TcpStream::connect(server).await {
            pairs.spawn(pair(client, server, Arc::clone(&shared)));
        }
    }
}

/// One connection: it ends when either side closes, or when the link is cut.
async fn pair(client: TcpStream, server: TcpStream, shared: Arc<Shared>) {
    for stream in [&client, &server] {
        stream.set_nodelay(true).unwrap();
    }
    let mut mood = shared.mood.subscribe();
    let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
    let committing = AtomicUsize::new(0);
    tokio::select! {
        () = requests(from_client, to_server, &shared, &committing) => {}
        () = answers(from_server, to_client, &shared, &committing) => {}
        _ = mood.wait_for(|mood| *mood == Mood::Cut) => {}
    }
}

async fn requests(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    shared: &Shared,
    committing: &AtomicUsize,
) {
    let mut bytes = Vec::with_capacity(PIECE_BYTES);
    while matches!(from.read_buf(&mut bytes).await, Ok(count) if count > 0) {
        if passable(shared).await.is_err() {
            return;
        }
        // Only the first one loses its response; the others continue.
        if contains(&bytes, shared.language.write) && take_loss(shared) {
            committing.store(1, Ordering::SeqCst);
        }
        if to.write_all(&bytes).await.is_err() {
            return;
        }
        bytes.clear();
    }
}

async fn answers(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, shared: &Shared, committing: &AtomicUsize) {
    let mut bytes = Vec::with_capacity(PIECE_BYTES);
    while matches!(from.read_buf(&mut bytes).await, Ok(count) if count > 0) {
        if passable(shared).await.is_err() {
            return;
        }
        if committing.load(Ordering::SeqCst) == 1 {
            if contains(&bytes, shared.language.written) {
                shared.answers_lost.fetch_add(1, Ordering::SeqCst);
                return;
            }
            continue;
        }
        if to.write_all(&bytes).await.is_err() {
            return;
        }
        bytes.clear();
    }
}

/// Bytes on a dead link are lost, and so is the connection when the link is restored.
struct Swallowed;

/// Waits as long as the link delays everything.
async fn passable(shared: &Shared) -> Result<(), Swallowed> {
    let mut mood = shared.mood.subscribe();
    let now = *mood.borrow_and_update();
    match now {
        Mood::Slow(delay) => tokio::time::sleep(delay).await,
        Mood::HalfOpen => {
            drop(mood.wait_for(|mood| *mood != Mood::HalfOpen).await);
            return Err(Swallowed);
        }
        Mood::Through | Mood::Cut | Mood::LoseAnswer => {}
    }
    Ok(())
}

fn take_loss(shared: &Shared) -> bool {
    shared.mood.send_if_modified(|mood| {
        let takes = *mood == Mood::LoseAnswer;
        if takes {
            *mood = Mood::Through;
        }
        takes
    })
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}
