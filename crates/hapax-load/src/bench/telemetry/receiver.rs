//! A receiver that accepts every connection and never answers: the worst one to send to.

use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Connections to hold open; further ones wait in the kernel.
const HELD_MAX: usize = 64;

/// The receiver. It stops when dropped.
pub(super) struct Hanging {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Hanging {
    pub(super) async fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let task = tokio::spawn(async move {
            let mut held: Vec<TcpStream> = Vec::with_capacity(HELD_MAX);
            while held.len() < HELD_MAX {
                match listener.accept().await {
                    Ok((connection, _)) => held.push(connection),
                    Err(_) => break,
                }
            }
            // Until the task is aborted.
            std::future::pending::<()>().await;
        });
        Ok(Self { address, task })
    }

    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }
}

/// An address where nothing listens: one that was free a moment ago.
pub(super) fn closed() -> std::io::Result<SocketAddr> {
    std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()
}

impl Drop for Hanging {
    fn drop(&mut self) {
        self.task.abort();
    }
}
