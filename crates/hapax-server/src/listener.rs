//! A socket that is served until it is stopped.

use std::net::SocketAddr;

use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::StartError;

pub(super) struct Listener {
    pub(super) address: SocketAddr,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Listener {
    pub(super) fn start(
        socket: TcpListener,
        serve: impl FnOnce(TcpListener, CancellationToken) -> JoinHandle<()>,
    ) -> Result<Self, StartError> {
        let address = socket.local_addr().map_err(StartError::Address)?;
        let stop = CancellationToken::new();
        let task = serve(socket, stop.clone());
        Ok(Self { address, stop, task })
    }

    pub(super) async fn stop(self) {
        self.stop.cancel();
        // It fails only if the loop panicked; then there is nothing left to wait for.
        let _ = self.task.await;
    }
}
