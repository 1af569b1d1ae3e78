//! Reading a body: whole, within its limit, within its time, within everybody's budget.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body::Body;
use http_body_util::BodyExt as _;
use tokio::time::timeout;

use super::budget::Share;

/// Room that is made ahead for an announced body; the rest grows as bytes arrive.
const ROOM_AHEAD_BYTES_MAX: u64 = 64 * 1024;

/// Why a body was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyError {
    /// It is longer than its limit, or says that it will be.
    TooLarge,
    /// It was not there in time.
    TooSlow(Duration),
    /// The client hung up, or sent what is no HTTP.
    Broken,
    /// All deliveries together hold too much already.
    NoRoom,
}

/// Reads it all.
pub(super) async fn read<B>(
    body: B,
    limit: u64,
    within: Duration,
    share: &mut Share,
) -> Result<Bytes, BodyError>
where
    B: Body<Data = Bytes> + Unpin,
{
    if body.size_hint().lower() > limit {
        return Err(BodyError::TooLarge);
    }
    // A body that came with its head is read before the time-out is ever looked at.
    timeout(within, collect(body, limit, share))
        .await
        .unwrap_or(Err(BodyError::TooSlow(within)))
}

async fn collect<B>(mut body: B, limit: u64, share: &mut Share) -> Result<Bytes, BodyError>
where
    B: Body<Data = Bytes> + Unpin,
{
    let announced = body.size_hint().lower();
    let Some(first) = next(&mut body).await? else {
        return Ok(Bytes::new());
    };
    within(limit, first.len())?;
    share.grow(first.len()).map_err(|_| BodyError::NoRoom)?;
    if body.is_end_stream() {
        return Ok(first);
    }
    let room = announced.min(ROOM_AHEAD_BYTES_MAX) as usize;
    let mut whole = BytesMut::with_capacity(room.max(first.len()));
    whole.extend_from_slice(&first);
    while let Some(data) = next(&mut body).await? {
        within(limit, whole.len() + data.len())?;
        share.grow(data.len()).map_err(|_| BodyError::NoRoom)?;
        whole.extend_from_slice(&data);
    }
    Ok(whole.freeze())
}

fn within(limit: u64, bytes: usize) -> Result<(), BodyError> {
    if bytes as u64 > limit {
        Err(BodyError::TooLarge)
    } else {
        Ok(())
    }
}

/// The next bytes; trailers are passed over.
async fn next<B: Body<Data = Bytes> + Unpin>(body: &mut B) -> Result<Option<Bytes>, BodyError> {
    while let Some(frame) = body.frame().await {
        match frame.map_err(|_| BodyError::Broken)?.into_data() {
            Ok(data) if data.is_empty() => {}
            Ok(data) => return Ok(Some(data)),
            Err(_trailers) => {}
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use http_body_util::{Full, StreamBody};
    use hyper::body::Frame;

    use super::super::budget::Budget;
    use super::*;

    const WITHIN: Duration = Duration::from_secs(5);

    fn pieces(pieces: &'static [&'static str]) -> impl Body<Data = Bytes, Error = std::io::Error> + Unpin {
        let frames = pieces
            .iter()
            .map(|piece| Ok(Frame::data(Bytes::from_static(piece.as_bytes()))));
        StreamBody::new(futures_util::stream::iter(frames))
    }

    fn share(bytes: usize) -> Share {
        Share::of(&Arc::new(Budget::new(bytes)))
    }

    #[tokio::test]
    async fn pieces_are_joined_and_a_single_one_is_not_copied() {
        let mut share = share(100);
        assert_eq!(
            read(pieces(&["ab", "", "c"]), 3, WITHIN, &mut share)
                .await
                .unwrap(),
            "abc"
        );
        let one = Bytes::from_static(b"whole");
        let read = read(Full::new(one.clone()), 5, WITHIN, &mut share).await.unwrap();
        assert_eq!(read.as_ptr(), one.as_ptr());
    }

    #[tokio::test]
    async fn more_than_the_limit_is_refused_announced_or_not() {
        let mut share = share(100);
        let announced = Full::new(Bytes::from_static(b"four"));
        assert_eq!(
            read(announced, 3, WITHIN, &mut share).await,
            Err(BodyError::TooLarge)
        );
        assert_eq!(
            read(pieces(&["ab", "cd"]), 3, WITHIN, &mut share).await,
            Err(BodyError::TooLarge)
        );
        assert_eq!(
            read(pieces(&["abcd"]), 3, WITHIN, &mut share).await,
            Err(BodyError::TooLarge)
        );
    }

    #[tokio::test]
    async fn more_than_the_budget_is_refused() {
        assert_eq!(
            read(pieces(&["ab", "cd"]), 9, WITHIN, &mut share(3)).await,
            Err(BodyError::NoRoom)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_never_ends_is_cut_off() {
        let endless = StreamBody::new(futures_util::stream::pending::<
            Result<Frame<Bytes>, std::io::Error>,
        >());
        let result = read(endless, 3, WITHIN, &mut share(3)).await;
        assert_eq!(result, Err(BodyError::TooSlow(WITHIN)));
    }
}
