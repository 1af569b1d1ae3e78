//! What a connection over the limit gets: one answer, 503, and the door.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::linger::Lingering;
use crate::http::problem::{MEDIA_TYPE, Problem};

/// Refusals under way at once; beyond that a connection is closed without a word.
const REFUSALS_MAX: usize = 256;
/// How long a refused client has to begin its request and take its answer.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(1);

/// Answers in a task of its own, as far as there is room for one.
pub(super) fn refuse(
    refusals: &mut JoinSet<()>,
    mut stream: TcpStream,
    connections_max: usize,
    lingering: &Arc<Lingering>,
) {
    if refusals.len() < REFUSALS_MAX {
        let lingering = Arc::clone(lingering);
        refusals.spawn(async move {
            // A client that does not take its answer in time has had its chance.
            if let Ok(Ok(())) = timeout(REFUSAL_TIMEOUT, answer(&mut stream, connections_max)).await {
                lingering.linger(&stream).await;
            }
        });
    }
}

async fn answer(stream: &mut TcpStream, connections_max: usize) -> std::io::Result<()> {
    // Not before the request begins: many clients take an answer to nothing for a broken connection.
    stream.peek(&mut [0]).await?;
    stream.write_all(text(connections_max).as_bytes()).await?;
    stream.shutdown().await
}

fn text(connections_max: usize) -> String {
    let problem = Problem::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "overloaded",
        "Overloaded",
        format!("{connections_max} connections are open already; try again later"),
    );
    let document = problem.document();
    let mut text = String::with_capacity(document.len() + 160);
    // Writing to a String cannot fail.
    let _ = write!(
        text,
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: {MEDIA_TYPE}\r\nretry-after: 1\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n{document}",
        document.len()
    );
    text
}
