//! A service that speaks TLS, and connections to it.

use hapax_server::Tuning;
use hapax_testkit::certificate::Authority;
use hapax_testkit::frames;
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::client::TlsStream;

use super::site::Site;

/// A folder with `tls.crt` and `tls.key`.
pub(super) struct Files(tempfile::TempDir);

impl Files {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Authority::new().certify(folder.path(), "tls");
        Self(folder)
    }

    pub(super) async fn serve(&self, tuning: Tuning) -> Site {
        let folder = self.0.path().display();
        Site::tuned(
            &format!("[server.tls]\ncert = \"{folder}/tls.crt\"\nkey = \"{folder}/tls.key\"\n"),
            tuning,
        )
        .await
    }

    /// A connection from a local address, with this protocol.
    pub(super) async fn connect(&self, site: &Site, from: &str, protocol: &str) -> TlsStream<TcpStream> {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(format!("{from}:0").parse().unwrap()).unwrap();
        let socket = socket.connect(site.server.ingest_address()).await.unwrap();
        frames::tls(socket, self.0.path().join("tls.crt"), protocol).await
    }
}
