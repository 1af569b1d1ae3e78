//! The loop that both listeners run: accept, serve HTTP/1.1, cut off who is too slow, drain at the end. An answer that
//! comes before the end of its request closes the connection, and still reaches its client.
//!
//! Everything a stranger can use up is bounded here by [`Limits`]; what bounds a body is in `ingest`.

mod activity;
mod census;
mod linger;
mod peer;
mod refuse;
mod request_body;
mod watched;

use std::collections::HashMap;
use std::error::Error as StdError;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Buf;
use http::header::{CONNECTION, HeaderValue};
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::{Id, JoinSet};
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use activity::Activity;
use census::Census;
pub use linger::Linger;
use linger::Lingering;
pub use peer::{Peer, WithPeer};
pub use request_body::RequestBody;
use watched::Watched;

/// After a failed accept (no file descriptor left, most often) the loop rests this long instead of spinning.
const ACCEPT_REST: Duration = Duration::from_millis(50);

/// What one listener grants to whoever connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at once; one more is answered 503 and closed.
    pub connections_max: usize,
    /// Connections of one peer at once; one more is answered 503 and closed. Never all of them.
    pub peer_connections_max: usize,
    /// A connection that sends nothing for this long after it was opened is closed. A head that is not complete this
    /// long after it began, or up to twice as long on a connection that was used before, is answered 408: one timer for
    /// each connection looks at it now and then.
    pub head_timeout: Duration,
    /// A connection that was used is closed when no further head has begun for this long, and somewhat longer. Longer
    /// than proxies keep theirs, so that they close first: a request on a connection that we close just then is lost,
    /// and the proxy makes a 502 of it.
    pub keep_alive: Duration,
    /// Bytes of a request head; more are answered 431. (More than 100 headers are 431 too; that is fixed.) A connection
    /// holds a buffer of at most twice this size for as long as it is in a request.
    pub head_bytes_max: usize,
    /// How long requests that run may take to end once the listener stops.
    pub drain: Duration,
    /// What a client may still send that was answered before the end of its request.
    pub linger: Linger,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections_max: 16_384,
            peer_connections_max: usize::MAX,
            head_timeout: Duration::from_secs(10),
            keep_alive: Duration::from_secs(150),
            head_bytes_max: 64 * 1024,
            drain: Duration::from_secs(10),
            linger: Linger::default(),
        }
    }
}

/// An address that cannot be listened on.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address} (`{key}`): {}", advice(.source))]
pub struct BindError {
    address: SocketAddr,
    key: &'static str,
    source: io::Error,
}

/// Takes the address; `key` is where the configuration names it.
pub async fn bind(address: SocketAddr, key: &'static str) -> Result<TcpListener, BindError> {
    TcpListener::bind(address)
        .await
        .map_err(|source| BindError { address, key, source })
}

/// Serves until `stop`, then drains. Returns once every connection is gone.
pub async fn serve<S, B>(listener: TcpListener, limits: Limits, service: S, stop: CancellationToken)
where
    S: Service<Request<RequestBody>, Response = Response<B>> + Clone + Send + Sync + 'static,
    S::Future: Send,
    S::Error: Into<Box<dyn StdError + Send + Sync>>,
    B: Body + Send + Unpin + 'static,
    B::Data: Buf + Send,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    serve_each(listener, limits, |_| service.clone(), stop).await;
}

/// The same, with a service made for each connection from who is at its other end.
pub async fn serve_each<S, B>(
    listener: TcpListener,
    limits: Limits,
    service: impl Fn(Peer) -> S,
    stop: CancellationToken,
) where
    S: Service<Request<RequestBody>, Response = Response<B>> + Send + Sync + 'static,
    S::Future: Send,
    S::Error: Into<Box<dyn StdError + Send + Sync>>,
    B: Body + Send + Unpin + 'static,
    B::Data: Buf + Send,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    let mut connections = JoinSet::new();
    let mut census = Census::new(limits.connections_max, limits.peer_connections_max);
    let mut drains: HashMap<Id, (Peer, oneshot::Sender<()>)> = HashMap::new();
    let mut refusals = JoinSet::new();
    let lingering = Arc::new(Lingering::new(limits.linger));
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, from)) => {
                    let peer = Peer(from.ip());
                    match census.enter(peer) {
                        Ok(()) => {
                            let (drain, draining) = oneshot::channel();
                            let lingering = Arc::clone(&lingering);
                            let task = connections.spawn(connection(stream, limits, service(peer), draining, lingering));
                            drains.insert(task.id(), (peer, drain));
                        }
                        Err(full) => refuse::refuse(&mut refusals, stream, full, &lingering),
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted; if this stays, raise the limit of open files");
                    tokio::time::sleep(ACCEPT_REST).await;
                }
            },
            Some(ended) = connections.join_next_with_id(), if !connections.is_empty() => {
                let id = match ended {
                    Ok((id, ())) => id,
                    Err(error) => error.id(),
                };
                if let Some((peer, _)) = drains.remove(&id) {
                    census.leave(peer);
                }
            }
            Some(_) = refusals.join_next(), if !refusals.is_empty() => {}
            () = stop.cancelled() => break,
        }
    }
    drop(listener);
    // Dropping the senders tells every connection to end after the request it is in.
    drop(drains);
    let all_ended = timeout(limits.drain, async {
        while connections.join_next().await.is_some() {}
    })
    .await;
    if all_ended.is_err() {
        tracing::warn!(
            connections = connections.len(),
            "connections did not end in time and are cut off"
        );
        connections.shutdown().await;
    }
}

async fn connection<S, B>(
    mut stream: TcpStream,
    limits: Limits,
    service: S,
    mut draining: oneshot::Receiver<()>,
    lingering: Arc<Lingering>,
) where
    S: Service<Request<RequestBody>, Response = Response<B>> + Send + Sync + 'static,
    S::Future: Send,
    S::Error: Into<Box<dyn StdError + Send + Sync>>,
    B: Body + Send + Unpin + 'static,
    B::Data: Buf + Send,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    // An answer is one small write: waiting to fill a segment would only delay it. Without it, all still works.
    let _ = stream.set_nodelay(true);
    let first_tick = Instant::now() + limits.head_timeout;
    // A connection that never says anything costs a socket and a small task, and no buffer. Only a look at the first
    // byte tells: a fresh socket is taken for readable until somebody has tried.
    let mut first_byte = [0];
    tokio::select! {
        looked = timeout_at(first_tick, stream.peek(&mut first_byte)) => match looked {
            Ok(Ok(1..)) => {}
            Ok(Ok(0) | Err(_)) | Err(_) => return,
        },
        _ = &mut draining => return,
    }
    // In a box of its own: the state of a conversation is several kilobytes, which idle connections must not hold.
    let ended = Box::pin(converse(&mut stream, limits, service, &mut draining, first_tick)).await;
    let is_answered = match ended {
        Ended::Whole => false,
        Ended::MidRequest => true,
        Ended::InHead => Box::pin(refuse::cut_off(&mut stream, limits.head_timeout))
            .await
            .is_ok(),
    };
    if is_answered {
        tokio::select! {
            () = lingering.linger(&stream) => {}
            _ = &mut draining => {}
        }
    }
}

/// How a conversation ended.
enum Ended {
    /// Nothing more is expected, or nobody waits for an answer.
    Whole,
    /// With an answer, while the client may still be sending.
    MidRequest,
    /// Without an answer, since the head of a request does not come to its end.
    InHead,
}

async fn converse<S, B>(
    stream: &mut TcpStream,
    limits: Limits,
    service: S,
    draining: &mut oneshot::Receiver<()>,
    first_tick: Instant,
) -> Ended
where
    S: Service<Request<RequestBody>, Response = Response<B>> + Send + Sync + 'static,
    S::Future: Send,
    S::Error: Into<Box<dyn StdError + Send + Sync>>,
    B: Body + Send + Unpin + 'static,
    B::Data: Buf + Send,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    let activity = Activity::default();
    // The first byte was seen already.
    activity.note_bytes();
    let watched = service_fn(|request: Request<Incoming>| {
        let busy = activity.begin();
        let answer = service.call(request.map(|body| RequestBody::new(body, &activity)));
        async move {
            let mut response = answer.await?;
            if busy.has_unread() {
                response
                    .headers_mut()
                    .insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Ok::<_, S::Error>(response.map(|body| busy.until_sent(body)))
        }
    });
    let serving = http1::Builder::new()
        .max_buf_size(limits.head_bytes_max)
        .max_header_size(limits.head_bytes_max)
        // Answers are short: one copy into one buffer costs less than gathering two.
        .writev(false)
        .serve_connection(
            TokioIo::new(Watched {
                stream,
                activity: activity.clone(),
            }),
            watched,
        );
    tokio::pin!(serving);
    let mut ticks = interval_at(first_tick, limits.head_timeout.min(limits.keep_alive));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut is_draining = false;
    let mut look = Look::at(&activity, Instant::now());
    loop {
        tokio::select! {
            biased;
            // A hang-up is no error of ours. What is no HTTP was answered 400 or 431.
            ended = serving.as_mut() => {
                let is_answered = activity.has_unread() || ended.is_err_and(|error| error.is_parse());
                return if is_answered && !is_draining { Ended::MidRequest } else { Ended::Whole };
            }
            _ = &mut *draining, if !is_draining => {
                is_draining = true;
                serving.as_mut().graceful_shutdown();
            }
            now = ticks.tick() => {
                let last = std::mem::replace(&mut look, Look::at(&activity, now));
                if last.stamp != look.stamp || !look.stamp.is_idle() {
                    continue;
                }
                if last.is_in_head {
                    return Ended::InHead;
                }
                look.since = last.since;
                if now.duration_since(look.since) >= limits.keep_alive {
                    return Ended::Whole;
                }
            }
        }
    }
}

/// What a connection was doing at one moment.
struct Look {
    stamp: activity::Stamp,
    is_in_head: bool,
    /// Since when nothing has changed.
    since: Instant,
}

impl Look {
    fn at(activity: &Activity, now: Instant) -> Self {
        Self {
            stamp: activity.stamp(),
            is_in_head: activity.is_in_head(),
            since: now,
        }
    }
}

fn advice(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            "another process listens there already; stop it or choose another address".to_owned()
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
        let listener = bind(([127, 0, 0, 1], 0).into(), "server.listen").await.unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (_drain, draining) = oneshot::channel();
        let service = service_fn(|_| async {
            Ok::<_, std::convert::Infallible>(Response::new(http_body_util::Full::new(bytes::Bytes::new())))
        });
        let lingering = Arc::new(Lingering::new(Linger::default()));
        let task = connection(stream, Limits::default(), service, draining, lingering);
        assert!(size_of_val(&task) < 1024, "{} bytes", size_of_val(&task));
    }

    #[tokio::test]
    async fn a_taken_port_is_refused_with_the_address_and_the_key() {
        let first = bind(([127, 0, 0, 1], 0).into(), "server.listen").await.unwrap();
        let address = first.local_addr().unwrap();
        let message = bind(address, "server.listen").await.unwrap_err().to_string();
        assert!(message.contains(&address.to_string()), "{message}");
        assert!(
            message.contains("`server.listen`") && message.contains("another process"),
            "{message}"
        );
    }
}
