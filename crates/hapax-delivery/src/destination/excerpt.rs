//! The beginning of an HTTP response, kept for people. The rest is read and discarded, within limits.

use std::time::Duration;

use bytes::Bytes;
use http_body::Body;
use http_body_util::BodyExt as _;
use tokio::time::{Instant, timeout_at};

/// Bytes of a destination's response that are kept.
pub(super) const EXCERPT_BYTES_MAX: usize = 1024;
/// Bytes that are read and discarded so that the connection can be reused; a longer response costs its connection.
const DISCARD_BYTES_MAX: usize = 64 * 1024;
/// How long to wait for the rest of a response. Its head has already decided the result.
const REST_TIMEOUT: Duration = Duration::from_secs(2);

/// Reads a response until `deadline` or for `REST_TIMEOUT`, whichever comes first.
pub(super) async fn read<B>(body: B, deadline: Instant) -> String
where
    B: Body<Data = Bytes> + Unpin,
{
    let mut kept = Vec::new();
    let until = deadline.min(Instant::now() + REST_TIMEOUT);
    // The bytes that arrived by then are the excerpt.
    let _ = timeout_at(until, collect(body, &mut kept)).await;
    text(&kept)
}

/// Any bytes as text, cut at the limit.
pub(super) fn text(bytes: &[u8]) -> String {
    let kept = &bytes[..bytes.len().min(EXCERPT_BYTES_MAX)];
    String::from_utf8_lossy(kept).into_owned()
}

async fn collect<B>(mut body: B, kept: &mut Vec<u8>)
where
    B: Body<Data = Bytes> + Unpin,
{
    let mut seen = 0;
    while let Some(Ok(frame)) = body.frame().await {
        if let Ok(data) = frame.into_data() {
            let room = EXCERPT_BYTES_MAX - kept.len();
            kept.extend_from_slice(&data[..data.len().min(room)]);
            seen += data.len();
            if seen > DISCARD_BYTES_MAX {
                return;
            }
        }
    }
}
