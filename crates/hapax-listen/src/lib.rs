//! The loop that both listeners run: accept connections, negotiate TLS if it is configured, serve HTTP/1.1 or HTTP/2,
//! cut off clients that are too slow, and drain at the end. Over HTTP/1.1, a response that precedes the end of its
//! request closes the connection, and still reaches the client.
//!
//! Every resource that an unverified client can use is limited here by [`Limits`]. The limits on bodies are in
//! `ingest`.

mod activity;
mod census;
mod conversation;
pub mod debt;
mod http2;
mod linger;
mod peer;
mod refuse;
mod request_body;
mod stream;
mod tls;
mod trusted_proxies;
mod watched;
mod with_peer;

use std::collections::HashMap;
use std::error::Error as StdError;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use hyper::service::Service;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::oneshot;
use tokio::task::{Id, JoinSet};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use census::Census;
use conversation::{Ended, converse};
pub use hapax_config::limits::listen::{Limits, Linger};
use linger::Lingering;
pub use peer::{Encrypted, Peer};
pub use request_body::RequestBody;
use stream::Stream;
pub use tls::{Refreshed, Tls, TlsError};
pub use trusted_proxies::TrustedProxies;
pub use with_peer::WithPeer;

/// Connections that the kernel may complete before we accept them; Linux allows `net.core.somaxconn`, by default as many.
/// The standard library's 128 are too few: of a burst of clients, the others wait for a second and try again.
const BACKLOG: u32 = 4_096;
/// The pause after a failed accept (usually because no file descriptor is left), to avoid a busy loop.
const ACCEPT_REST: Duration = Duration::from_millis(50);
/// The time allowed for the TLS close notification.
const GOODBYE: Duration = Duration::from_secs(1);

/// An address that cannot be bound.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address} (`{key}`): {}", advice(.source))]
pub struct BindError {
    address: SocketAddr,
    key: &'static str,
    source: io::Error,
}

/// Binds the address; `key` is its key in the configuration.
pub fn bind(address: SocketAddr, key: &'static str) -> Result<TcpListener, BindError> {
    listen(address).map_err(|source| BindError { address, key, source })
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // As the standard library does: a restart must not wait for the connections of the process before. On Windows, the
    // same option would let another process take the port over.
    #[cfg(not(windows))]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// The layers between a client and HTTP.
#[derive(Clone, Debug, Default)]
pub struct Front {
    /// `None` for plain text.
    pub tls: Option<Tls>,
    /// The proxies that are trusted to name the client's address.
    pub proxies: TrustedProxies,
}

/// The service behind a listener.
pub trait HttpService<B>:
    Service<
        Request<RequestBody>,
        Response = Response<B>,
        Future: Send + 'static,
        Error: Into<Box<dyn StdError + Send + Sync>>,
    > + Clone
    + Send
    + Sync
    + 'static
{
}

impl<B, S> HttpService<B> for S where
    S: Service<
            Request<RequestBody>,
            Response = Response<B>,
            Future: Send + 'static,
            Error: Into<Box<dyn StdError + Send + Sync>>,
        > + Clone
        + Send
        + Sync
        + 'static
{
}

/// A response body of the service.
pub trait HttpBody:
    Body<Data: Send, Error: Into<Box<dyn StdError + Send + Sync>>> + From<Bytes> + Send + Unpin + 'static
{
}

impl<B> HttpBody for B where
    B: Body<Data: Send, Error: Into<Box<dyn StdError + Send + Sync>>> + From<Bytes> + Send + Unpin + 'static
{
}

/// Serves until `stop` is cancelled, then drains. Returns once every connection has ended. The body of every request
/// knows its [`Peer`].
pub async fn serve<B: HttpBody>(
    listener: TcpListener,
    limits: Limits,
    front: Front,
    service: impl HttpService<B>,
    stop: CancellationToken,
) {
    let census = Census::new(limits.connections_max, limits.peer_connections_max);
    let shared = Arc::new(Shared {
        limits,
        front,
        requests: Census::new(limits.connections_max, limits.peer_connections_max),
        lingering: Arc::new(Lingering::new(limits.linger)),
    });
    let mut connections = JoinSet::new();
    let mut drains: HashMap<Id, oneshot::Sender<()>> = HashMap::new();
    let mut refusals = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, from)) => match census.enter(shared.front.proxies.counted(Peer(from.ip()))) {
                    Ok(place) => {
                        let (drain, draining) = oneshot::channel();
                        let client = Client { address: from.ip(), shared: Arc::clone(&shared) };
                        let served = connection(stream, client, service.clone(), draining);
                        let task = connections.spawn(async move {
                            let _place = place;
                            served.await;
                        });
                        drains.insert(task.id(), drain);
                    }
                    // Over TLS, a refusal would take a handshake, for which there is no room.
                    Err(_) if shared.front.tls.is_some() => {}
                    Err(full) => refuse::refuse(&mut refusals, stream, full, &shared.lingering),
                },
                Err(error) => {
                    tracing::warn!(
                        %error,
                        "a connection could not be accepted; if this persists, raise the open-file limit"
                    );
                    tokio::time::sleep(ACCEPT_REST).await;
                }
            },
            Some(ended) = connections.join_next_with_id(), if !connections.is_empty() => {
                let id = match ended {
                    Ok((id, ())) => id,
                    Err(error) => error.id(),
                };
                drains.remove(&id);
            }
            Some(_) = refusals.join_next(), if !refusals.is_empty() => {}
            () = stop.cancelled() => break,
        }
    }
    drop(listener);
    // Dropping the senders makes every connection end after its current request.
    drop(drains);
    let all_ended = timeout(limits.drain, async {
        while connections.join_next().await.is_some() {}
    })
    .await;
    if all_ended.is_err() {
        tracing::warn!(
            connections = connections.len(),
            "connections did not end in time and were closed"
        );
        connections.shutdown().await;
    }
}

/// State that all connections of a listener share.
struct Shared {
    limits: Limits,
    front: Front,
    /// Concurrent requests, for connections that carry many requests or the requests of many clients.
    requests: Arc<Census>,
    lingering: Arc<Lingering>,
}

struct Client {
    address: IpAddr,
    shared: Arc<Shared>,
}

async fn connection<B: HttpBody>(
    socket: TcpStream,
    client: Client,
    service: impl HttpService<B>,
    mut draining: oneshot::Receiver<()>,
) {
    // A response is one small write, and waiting to fill a segment would only delay it. A failure here is harmless.
    let _ = socket.set_nodelay(true);
    let first_tick = Instant::now() + client.shared.limits.head_timeout;
    // A connection that never sends anything costs a socket and a small task, but no buffer. Peeking at the first byte
    // is necessary, because a new socket counts as readable until a read is tried.
    let mut first_byte = [0];
    tokio::select! {
        looked = timeout_at(first_tick, socket.peek(&mut first_byte)) => match looked {
            Ok(Ok(1..)) => {}
            Ok(Ok(0) | Err(_)) | Err(_) => return,
        },
        _ = &mut draining => return,
    }
    // Boxed, because everything that follows needs several kilobytes, which idle connections must not hold.
    Box::pin(speak(socket, first_byte, &client, service, draining, first_tick)).await;
}

async fn speak<B: HttpBody>(
    socket: TcpStream,
    first_byte: [u8; 1],
    client: &Client,
    service: impl HttpService<B>,
    mut draining: oneshot::Receiver<()>,
    first_tick: Instant,
) {
    let Shared {
        limits,
        front,
        lingering,
        ..
    } = &*client.shared;
    let (mut stream, retired) = match &front.tls {
        None => (Stream::Plain(socket), None),
        Some(_) if first_byte != [tls::FIRST_BYTE] => {
            return refuse::refuse_plain(socket, lingering).await;
        }
        Some(tls) => match Box::pin(tls.accept(socket, first_tick)).await {
            Some((stream, retired)) => (Stream::Tls(stream), Some(retired)),
            None => return,
        },
    };
    let ending = async {
        let Some(retired) = &retired else {
            let _ = (&mut draining).await;
            return;
        };
        tokio::select! {
            _ = &mut draining => {}
            () = retired.cancelled() => {}
        }
    };
    // Boxed separately, so that it is freed before waiting for the rest of a request.
    let ended = Box::pin(converse(&mut stream, client, service, ending, first_tick)).await;
    let is_answered = match ended {
        Ended::Whole => false,
        Ended::MidRequest => true,
        Ended::InHead => Box::pin(refuse::cut_off(&mut stream, limits.head_timeout))
            .await
            .is_ok(),
    };
    if is_answered {
        tokio::select! {
            () = lingering.linger(stream.socket()) => {}
            _ = &mut draining => {}
        }
    } else if stream.is_encrypted() {
        // TLS guarantees that the end was not truncated, so it has to be announced. A client that no longer reads can
        // be ignored.
        let _ = timeout(GOODBYE, stream.shutdown()).await;
    }
}

fn advice(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            "another process already listens there; stop it or choose another address".to_owned()
        }
        io::ErrorKind::AddrNotAvailable => {
            "no interface of this machine has that address; 0.0.0.0 stands for all of them".to_owned()
        }
        io::ErrorKind::PermissionDenied => {
            format!("{error}; ports below 1024 need a privilege: choose a higher one")
        }
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_connection_that_says_nothing_holds_less_than_a_kilobyte() {
        let listener = bind(([127, 0, 0, 1], 0).into(), "server.listen").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (_drain, draining) = oneshot::channel();
        let service = hyper::service::service_fn(|_| async {
            Ok::<_, std::convert::Infallible>(Response::new(http_body_util::Full::new(Bytes::new())))
        });
        let limits = Limits::default();
        let shared = Shared {
            limits,
            front: Front::default(),
            requests: Census::new(1, 1),
            lingering: Arc::new(Lingering::new(limits.linger)),
        };
        let client = Client {
            address: stream.peer_addr().unwrap().ip(),
            shared: Arc::new(shared),
        };
        let task = connection::<http_body_util::Full<Bytes>>(stream, client, service, draining);
        assert!(size_of_val(&task) < 1024, "{} bytes", size_of_val(&task));
    }

    #[tokio::test]
    async fn a_burst_of_clients_is_connected_before_any_is_accepted() {
        let listener = bind(([127, 0, 0, 1], 0).into(), "server.listen").unwrap();
        let address = listener.local_addr().unwrap();
        let mut connecting = JoinSet::new();
        for _ in 0..512 {
            connecting.spawn(TcpStream::connect(address));
        }
        // Nobody accepts: a client for which the queue has no place would try again and again, without success.
        let connected = timeout(Duration::from_secs(60), connecting.join_all()).await;
        let connected = connected.expect("every client is connected, although none is accepted");
        assert!(connected.iter().all(Result::is_ok), "{connected:?}");
    }

    #[tokio::test]
    async fn a_taken_port_is_refused_with_the_address_and_the_key() {
        let first = bind(([127, 0, 0, 1], 0).into(), "server.listen").unwrap();
        let address = first.local_addr().unwrap();
        let message = bind(address, "server.listen").unwrap_err().to_string();
        assert!(message.contains(&address.to_string()), "{message}");
        assert!(
            message.contains("`server.listen`") && message.contains("another process"),
            "{message}"
        );
    }
}
