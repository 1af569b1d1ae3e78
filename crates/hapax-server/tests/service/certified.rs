//! A service that speaks TLS, and connections to it.

use std::path::PathBuf;
use std::process::Command;

use hapax_server::Tuning;
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::client::TlsStream;

use hapax_testkit::frames;

use super::site::Site;

/// A certificate that is its own authority.
pub(super) struct Files(tempfile::TempDir);

impl Files {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let made = Command::new("openssl")
            .args([
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:P-256",
                "-nodes",
                "-days",
                "2",
            ])
            .args(["-subj", "/CN=localhost", "-keyout", "tls.key", "-out", "tls.crt"])
            .current_dir(folder.path())
            .output()
            .expect("openssl is needed: apt-get install openssl");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        Self(folder)
    }

    fn cert(&self) -> PathBuf {
        self.0.path().join("tls.crt")
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
        frames::tls(socket, self.cert(), protocol).await
    }
}
