//! Reads a body in full, within its size limit, its time limit, its minimum rate and the shared memory budget.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body::Body;
use http_body_util::BodyExt as _;
use tokio::time::{Instant, sleep, timeout_at};

use super::Limits;
use super::budget::{FREE_BYTES, Share};

/// The most space reserved for an announced body. The buffer grows beyond it as bytes arrive.
const ROOM_AHEAD_BYTES_MAX: u64 = 64 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyError {
    /// The body is longer than its limit, or is announced to be.
    TooLarge,
    /// The body did not arrive in time.
    TooLate(Duration),
    /// The body arrived at fewer than this many bytes per second.
    TooSlow(u32),
    /// The client disconnected, or sent invalid HTTP.
    Broken,
    /// Unverified requests already hold too much memory.
    NoRoom,
}

/// How to read a body.
pub(super) struct Reading<'a, W> {
    /// The largest body, in bytes.
    pub(super) limit: u64,
    /// The limits on its time and rate.
    pub(super) limits: &'a Limits,
    /// How long the peer has to wait before more of a large body is read.
    pub(super) wait: W,
}

impl<W: Fn(Instant) -> Duration> Reading<'_, W> {
    /// Refuses a body that is announced to be too large.
    pub(super) fn check_announced(&self, body: &impl Body) -> Result<(), BodyError> {
        if body.size_hint().lower() > self.limit {
            return Err(BodyError::TooLarge);
        }
        Ok(())
    }

    /// Reads the whole body.
    pub(super) async fn read<B>(&self, mut body: B, share: &mut Share) -> Result<Bytes, BodyError>
    where
        B: Body<Data = Bytes> + Unpin,
    {
        let announced = body.size_hint().lower();
        let mut pace = Pace::new(self.limits);
        let Some(first) = self.next(&mut body, &mut pace, share).await? else {
            return Ok(Bytes::new());
        };
        if body.is_end_stream() {
            return Ok(first);
        }
        let room = announced.min(ROOM_AHEAD_BYTES_MAX) as usize;
        let mut whole = BytesMut::with_capacity(room.max(first.len()));
        whole.extend_from_slice(&first);
        drop(first);
        while let Some(data) = self.next(&mut body, &mut pace, share).await? {
            whole.extend_from_slice(&data);
        }
        Ok(whole.freeze())
    }

    /// The next bytes, once they are allowed to be read and fit the budget.
    async fn next<B>(
        &self,
        body: &mut B,
        pace: &mut Pace<'_>,
        share: &mut Share,
    ) -> Result<Option<Bytes>, BodyError>
    where
        B: Body<Data = Bytes> + Unpin,
    {
        if share.bytes() > FREE_BYTES {
            pace.rest((self.wait)(Instant::now())).await?;
        }
        let Some(data) = pace.keep(data(body)).await? else {
            return Ok(None);
        };
        if (share.bytes() + data.len()) as u64 > self.limit {
            return Err(BodyError::TooLarge);
        }
        share.grow(data.len()).map_err(|_| BodyError::NoRoom)?;
        pace.advance(data.len());
        Ok(Some(data))
    }
}

/// The next bytes; trailers are skipped.
async fn data<B: Body<Data = Bytes> + Unpin>(body: &mut B) -> Result<Option<Bytes>, BodyError> {
    while let Some(frame) = body.frame().await {
        match frame.map_err(|_| BodyError::Broken)?.into_data() {
            Ok(data) if data.is_empty() => {}
            Ok(data) => return Ok(Some(data)),
            Err(_trailers) => {}
        }
    }
    Ok(None)
}

/// Measures how fast a body arrives. A body that arrived together with its head is read before anything is measured.
struct Pace<'a> {
    limits: &'a Limits,
    ends: Instant,
    /// The start of the measurement, and the bytes since then.
    since: Instant,
    bytes: u64,
}

impl<'a> Pace<'a> {
    fn new(limits: &'a Limits) -> Self {
        let now = Instant::now();
        Self {
            limits,
            ends: now + limits.body_timeout,
            since: now,
            bytes: 0,
        }
    }

    /// The result of `next`, or an error if it does not complete in time.
    async fn keep<T>(&self, next: impl Future<Output = Result<T, BodyError>>) -> Result<T, BodyError> {
        let by_rate = self.since + self.limits.body_grace;
        match timeout_at(self.ends.min(by_rate), next).await {
            Ok(next) => next,
            Err(_) if by_rate < self.ends => Err(BodyError::TooSlow(self.limits.body_rate_min)),
            Err(_) => Err(BodyError::TooLate(self.limits.body_timeout)),
        }
    }

    fn advance(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
        if self.bytes >= u64::from(self.limits.body_rate_min) * self.limits.body_grace.as_secs() {
            self.since = Instant::now();
            self.bytes = 0;
        }
    }

    /// A wait that we impose, which does not count against the client's rate.
    async fn rest(&mut self, wait: Duration) -> Result<(), BodyError> {
        if wait.is_zero() {
            return Ok(());
        }
        if Instant::now() + wait >= self.ends {
            return Err(BodyError::NoRoom);
        }
        sleep(wait).await;
        self.since = Instant::now();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::StreamExt as _;
    use hapax_core::SourceName;
    use http_body_util::{Full, StreamBody};
    use hyper::body::Frame;

    use super::super::budget::Budget;
    use super::*;
    use hapax_config::Rate;
    use hapax_listen::Peer;

    const LIMITS: Limits = Limits {
        body_timeout: Duration::from_secs(30),
        body_grace: Duration::from_secs(5),
        body_rate_min: 1000,
        unproven_bytes_max: 1 << 20,
        peer_unproven_bytes_max: 1 << 20,
        proven_bytes_max: 1 << 20,
        peer_refusals: Rate {
            count: 50,
            per: Duration::from_secs(1),
        },
    };

    fn share() -> Share {
        let source = SourceName::from("stripe");
        let budget = Arc::new(Budget::new(&LIMITS, 1));
        Share::of(&budget, &source, Peer([127, 0, 0, 1].into()))
    }

    async fn read(body: impl Body<Data = Bytes> + Unpin, limit: u64) -> Result<Bytes, BodyError> {
        read_after(body, limit, |_| Duration::ZERO).await
    }

    async fn read_after(
        body: impl Body<Data = Bytes> + Unpin,
        limit: u64,
        wait: impl Fn(Instant) -> Duration,
    ) -> Result<Bytes, BodyError> {
        let reading = Reading {
            limit,
            limits: &LIMITS,
            wait,
        };
        reading.check_announced(&body)?;
        reading.read(body, &mut share()).await
    }

    fn pieces(pieces: &'static [&'static str]) -> impl Body<Data = Bytes, Error = std::io::Error> + Unpin {
        let frames = pieces
            .iter()
            .map(|piece| Ok(Frame::data(Bytes::from_static(piece.as_bytes()))));
        StreamBody::new(futures_util::stream::iter(frames))
    }

    /// A body that yields `bytes` at each interval of `every`, without end.
    fn drops(bytes: usize, every: Duration) -> impl Body<Data = Bytes, Error = std::io::Error> + Unpin {
        let drops = futures_util::stream::repeat(()).then(move |()| async move {
            sleep(every).await;
            Ok(Frame::data(Bytes::from(vec![0; bytes])))
        });
        StreamBody::new(Box::pin(drops))
    }

    #[tokio::test]
    async fn pieces_are_joined_and_a_single_one_is_not_copied() {
        assert_eq!(read(pieces(&["ab", "", "c"]), 3).await.unwrap(), "abc");
        let one = Bytes::from_static(b"whole");
        let read = read(Full::new(one.clone()), 5).await.unwrap();
        assert_eq!(read.as_ptr(), one.as_ptr());
    }

    #[tokio::test]
    async fn more_than_the_limit_is_refused_announced_or_not() {
        let announced = Full::new(Bytes::from_static(b"four"));
        assert_eq!(read(announced, 3).await, Err(BodyError::TooLarge));
        assert_eq!(read(pieces(&["ab", "cd"]), 3).await, Err(BodyError::TooLarge));
        assert_eq!(read(pieces(&["abcd"]), 3).await, Err(BodyError::TooLarge));
    }

    #[tokio::test]
    async fn more_than_the_budget_is_refused() {
        let large = Full::new(Bytes::from(vec![0; 2 << 20]));
        assert_eq!(read(large, 4 << 20).await, Err(BodyError::NoRoom));
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_falls_below_its_rate_is_cut_off_however_much_came_before() {
        let started = Instant::now();
        let second = Duration::from_secs(1);
        assert_eq!(
            read(drops(999, second), 9 << 20).await,
            Err(BodyError::TooSlow(1000))
        );
        assert!(started.elapsed() < 6 * second, "{:?}", started.elapsed());
        let beginning = futures_util::stream::once(async { Ok(Frame::data(Bytes::from(vec![0; 500_000]))) });
        let stalled = StreamBody::new(Box::pin(beginning.chain(futures_util::stream::pending::<
            Result<Frame<Bytes>, std::io::Error>,
        >())));
        assert_eq!(read(stalled, 9 << 20).await, Err(BodyError::TooSlow(1000)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_keeps_its_rate_and_never_ends_is_cut_off() {
        let result = read(drops(2000, Duration::from_secs(1)), 9 << 20).await;
        assert_eq!(result, Err(BodyError::TooLate(Duration::from_secs(30))));
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_has_to_wait_is_not_too_slow_for_it() {
        let started = Instant::now();
        let waits = |now: Instant| Duration::from_secs(20).saturating_sub(now - started);
        let body =
            Box::pin(futures_util::stream::iter([9000, 9000].map(|bytes| {
                Ok::<_, std::io::Error>(Frame::data(Bytes::from(vec![0; bytes])))
            })));
        let whole = read_after(StreamBody::new(body), 9 << 20, waits).await.unwrap();
        assert_eq!(whole.len(), 18_000);
        assert!(started.elapsed() >= Duration::from_secs(20));
        let too_long = |_: Instant| Duration::from_secs(60);
        let body = drops(9000, Duration::from_millis(1));
        assert_eq!(read_after(body, 9 << 20, too_long).await, Err(BodyError::NoRoom));
    }
}
