//! A proxy that refuses settings at the start of a session, as RDS Proxy and pgbouncer do, and passes everything else
//! on.

use hapax_test_postgres::Database;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

/// The proxy; it listens until the test's runtime ends.
pub(crate) struct Proxy {
    port: u16,
}

impl Proxy {
    /// Starts in front of a server and refuses settings with this SQLSTATE.
    pub(crate) async fn start(server_port: u16, refusal: &'static str) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(serve(client, server_port, refusal));
            }
        });
        Self { port }
    }

    /// The URL of a database of the server, through this proxy.
    pub(crate) fn url(&self, database: &Database) -> String {
        let (port, name) = (self.port, database.name());
        format!("postgres://postgres@127.0.0.1:{port}/{name}?sslmode=disable")
    }
}

async fn serve(mut client: TcpStream, server_port: u16, refusal: &str) {
    // The first message: its own length, the protocol's version, and parameters as pairs of C strings.
    let length = client.read_u32().await.unwrap();
    let mut start = vec![0; length as usize - 4];
    client.read_exact(&mut start).await.unwrap();
    let mut words = start[4..].split(|byte| *byte == 0);
    if words.any(|word| word == b"options") {
        let fields = format!("SFATAL\0VFATAL\0C{refusal}\0Mcommand-line options are not supported\0\0");
        client.write_u8(b'E').await.unwrap();
        client.write_u32(4 + fields.len() as u32).await.unwrap();
        client.write_all(fields.as_bytes()).await.unwrap();
        return;
    }
    let mut server = TcpStream::connect(("127.0.0.1", server_port)).await.unwrap();
    server.write_u32(length).await.unwrap();
    server.write_all(&start).await.unwrap();
    // Either side may close first.
    drop(copy_bidirectional(&mut client, &mut server).await);
}
