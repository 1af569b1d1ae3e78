//! Responses outside of HTTP handling: 503 for a connection above the limit, 408 for a head that is not completed, 400
//! for plain text on a TLS port.

use std::fmt::Write as _;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::census::Full;
use super::linger::Lingering;
use hapax_api::problem::{Code, MEDIA_TYPE, Problem};

/// The most refusals in progress. Beyond that, a connection is closed without a response.
const REFUSALS_MAX: usize = 256;
/// How long a refused client has to begin its request and read the response.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(1);

/// Responds in a separate task, if there is room for one.
pub(super) fn refuse(
    refusals: &mut JoinSet<()>,
    mut stream: TcpStream,
    full: Full,
    lingering: &Arc<Lingering>,
) {
    if refusals.len() < REFUSALS_MAX {
        let lingering = Arc::clone(lingering);
        refusals.spawn(async move {
            // A client that does not read its response in time is disconnected.
            if let Ok(Ok(())) = timeout(REFUSAL_TIMEOUT, answer(&mut stream, full)).await {
                lingering.linger(&stream).await;
            }
        });
    }
}

async fn answer(stream: &mut TcpStream, full: Full) -> io::Result<()> {
    // Only after the request has begun: many clients mistake an unsolicited response for a broken connection.
    stream.peek(&mut [0]).await?;
    say(stream, &overloaded(full, "connections")).await
}

/// Responds to a head that was not completed in time. The client may not receive it.
pub(super) async fn cut_off(stream: &mut (impl AsyncWrite + Unpin), within: Duration) -> io::Result<()> {
    say_in_time(stream, &head_timeout(within)).await
}

/// Responds to a client that uses plain HTTP on a TLS port.
pub(super) async fn refuse_plain(mut stream: TcpStream, lingering: &Lingering) {
    if say_in_time(&mut stream, &tls_required()).await.is_ok() {
        lingering.linger(&stream).await;
    }
}

async fn say_in_time(stream: &mut (impl AsyncWrite + Unpin), problem: &Problem) -> io::Result<()> {
    let answered = timeout(REFUSAL_TIMEOUT, say(stream, problem)).await;
    answered.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

async fn say(stream: &mut (impl AsyncWrite + Unpin), problem: &Problem) -> io::Result<()> {
    stream.write_all(text(problem).as_bytes()).await?;
    stream.shutdown().await
}

/// There is no room for one more of `what`: connections or requests.
pub(super) fn overloaded(full: Full, what: &str) -> Problem {
    let detail = match full {
        Full::All(count) => format!("{count} {what} are already open; try again later"),
        Full::Peer(count) => format!(
            "{count} {what} from this address are already open; wait for some to end, or raise \
             `connections_per_peer` in [server.limits]"
        ),
    };
    Problem::new(Code::Overloaded, detail).retry_after(Duration::from_secs(1))
}

fn tls_required() -> Problem {
    Problem::new(
        Code::TlsRequired,
        "this port requires TLS, and the request arrived in plain text; use https://",
    )
}

fn head_timeout(within: Duration) -> Problem {
    Problem::new(
        Code::HeadTimeout,
        format!(
            "the request head was not complete after {} s; nothing was stored",
            within.as_secs()
        ),
    )
}

fn text(problem: &Problem) -> String {
    let (status, document) = (problem.status(), problem.document());
    let mut text = String::with_capacity(document.len() + 160);
    let reason = status.canonical_reason().unwrap_or_default();
    // Writing to a String cannot fail.
    let _ = write!(
        text,
        "HTTP/1.1 {} {reason}\r\ncontent-type: {MEDIA_TYPE}\r\n",
        status.as_u16()
    );
    if status == StatusCode::SERVICE_UNAVAILABLE {
        text.push_str("retry-after: 1\r\n");
    }
    let _ = write!(
        text,
        "content-length: {}\r\nconnection: close\r\n\r\n{document}",
        document.len()
    );
    text
}
