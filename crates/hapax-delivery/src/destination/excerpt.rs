//! The beginning of an HTTP answer, kept for people; the rest is read and thrown away, within bounds.

use std::time::Duration;

use bytes::Bytes;
use http_body::Body;
use http_body_util::BodyExt as _;
use tokio::time::{Instant, timeout_at};

/// Bytes that are kept of what a destination says.
pub(super) const EXCERPT_BYTES_MAX: usize = 1024;
/// Bytes that are read and thrown away so that the connection can be used again; a longer answer costs its connection.
const DISCARD_BYTES_MAX: usize = 64 * 1024;
/// How long the rest of an answer is waited for. Its head has decided already.
const REST_TIMEOUT: Duration = Duration::from_secs(2);

/// Reads what there is of an answer until `deadline`, or a little while, whichever is first.
pub(super) async fn read<B>(body: B, deadline: Instant) -> String
where
    B: Body<Data = Bytes> + Unpin,
{
    let mut kept = Vec::new();
    let until = deadline.min(Instant::now() + REST_TIMEOUT);
    // Whatever arrived until then is the excerpt.
    let _ = timeout_at(until, collect(body, &mut kept)).await;
    text(&kept)
}

/// As text, whatever the bytes are; cut at the limit.
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
