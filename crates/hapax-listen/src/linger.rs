//! Lingering: after a response that precedes the end of its request, the rest of the request is read and discarded for
//! a while.
//!
//! Closing a socket with unread bytes resets the connection, and a reset destroys the response on its way to a client
//! that is still sending. So our side is shut down, the client may finish, and only then is the socket closed. This
//! holds no buffer and no share of any budget; [`Linger`] limits what it may use.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use parking_lot::Mutex;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout};

use crate::debt::Debt;
use hapax_config::limits::listen::Linger;

/// The number of bytes discarded at a time, in a buffer on the stack.
const PIECE_BYTES: usize = 16 * 1024;
/// Shorter pauses cost more than they save.
const PAUSE_MIN: Duration = Duration::from_millis(10);

/// The lingering connections of one listener.
#[derive(Debug)]
pub(super) struct Lingering {
    limits: Linger,
    room: Semaphore,
    debt: Mutex<Debt>,
}

impl Lingering {
    pub(super) fn new(limits: Linger) -> Self {
        let room = Semaphore::new(limits.connections_max);
        Self {
            limits,
            room,
            debt: Mutex::default(),
        }
    }

    /// Reads until the client closes the connection or reaches a limit. Our side is already shut down.
    pub(super) async fn linger(&self, stream: &TcpStream) {
        if let Ok(_room) = self.room.try_acquire() {
            // Either way, the socket is closed next.
            let _ = timeout(self.limits.within, self.discard(stream)).await;
        }
    }

    /// The same for the body of one of many requests on a connection. Some clients that are told to stop sending before
    /// they have sent everything do not check whether a response arrived first.
    pub(super) async fn linger_body(&self, mut body: Incoming) {
        let Ok(_room) = self.room.try_acquire() else {
            return;
        };
        let mut left = self.limits.bytes_max;
        let discarded = timeout(self.limits.within, async {
            while left > 0 {
                match timeout(self.limits.silence_max, body.frame()).await {
                    Ok(Some(Ok(frame))) => {
                        let bytes = frame.data_ref().map_or(0, Bytes::len);
                        left = left.saturating_sub(bytes);
                        self.pay_for(bytes).await;
                    }
                    Ok(Some(Err(_)) | None) | Err(_) => return,
                }
            }
        });
        // Either way, the rest of the stream is reset next.
        let _ = discarded.await;
    }

    async fn discard(&self, stream: &TcpStream) {
        let mut left = self.limits.bytes_max;
        while left > 0 {
            let Ok(Ok(())) = timeout(self.limits.silence_max, stream.readable()).await else {
                return;
            };
            // Outside the match, so that the buffer does not live in the task during a pause.
            let read = stream.try_read(&mut [0; PIECE_BYTES]);
            match read {
                Ok(0) => return,
                Ok(bytes) => {
                    left = left.saturating_sub(bytes);
                    self.pay_for(bytes).await;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return,
            }
        }
    }

    /// Charges discarded bytes, and waits until more may be discarded.
    async fn pay_for(&self, bytes: usize) {
        let owed = self.owed_after(bytes);
        if owed >= PAUSE_MIN {
            sleep(owed).await;
        }
    }

    fn owed_after(&self, bytes: usize) -> Duration {
        let cost = Duration::from_secs(bytes as u64) / self.limits.bytes_per_second_max;
        let now = Instant::now();
        let mut debt = self.debt.lock();
        debt.charge(cost, self.limits.within, now);
        debt.owed(now)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    const SOON: Duration = Duration::from_millis(50);

    async fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap());
        let (client, accepted) = tokio::join!(client, listener.accept());
        (client.unwrap(), accepted.unwrap().0)
    }

    /// Sends without end, until the other side closes the connection.
    async fn send_endlessly(mut client: TcpStream) -> usize {
        let mut sent = 0;
        while let Ok(bytes) = client.write(&[0; 4096]).await {
            sent += bytes;
        }
        sent
    }

    #[tokio::test]
    async fn a_client_that_sends_it_all_first_still_reads_its_answer() {
        let (mut client, mut server) = pair().await;
        let lingering = Lingering::new(Linger::default());
        let serving = async {
            server.write_all(b"no").await.unwrap();
            server.shutdown().await.unwrap();
            lingering.linger(&server).await;
            drop(server);
        };
        let sending = async {
            client.write_all(&vec![0; 8 << 20]).await.unwrap();
            let mut answer = String::new();
            client.read_to_string(&mut answer).await.unwrap();
            drop(client);
            answer
        };
        let ((), answer) = tokio::join!(serving, sending);
        assert_eq!(answer, "no");
    }

    #[tokio::test]
    async fn bytes_time_and_silence_are_bounded() {
        let within = Linger {
            within: SOON,
            ..Linger::default()
        };
        let few = Linger {
            bytes_max: 1 << 20,
            ..Linger::default()
        };
        for limits in [within, few] {
            let (client, server) = pair().await;
            let sending = tokio::spawn(send_endlessly(client));
            Lingering::new(limits).linger(&server).await;
            drop(server);
            assert!(sending.await.unwrap() > 0);
        }
        let (_client, server) = pair().await;
        let silent = Linger {
            silence_max: SOON,
            ..Linger::default()
        };
        Lingering::new(silent).linger(&server).await;
    }

    #[tokio::test]
    async fn one_connection_too_many_does_not_linger() {
        let (_client, server) = pair().await;
        let none = Linger {
            connections_max: 0,
            ..Linger::default()
        };
        timeout(SOON, Lingering::new(none).linger(&server)).await.unwrap();
    }
}
