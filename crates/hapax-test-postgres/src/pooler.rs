//! A pgbouncer in front of a server: it shares few connections among many clients, transaction by transaction.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use crate::ServerError;
use crate::database::Database;
use crate::folder::base;
use crate::port::free_port;
use crate::program::{command, give};

/// Where Debian and others install it.
const PROGRAMS: [&str; 3] = [
    "/usr/sbin/pgbouncer",
    "/usr/bin/pgbouncer",
    "/usr/local/bin/pgbouncer",
];
/// How long it may take to start.
const START_MAX: Duration = Duration::from_secs(20);

/// A running pgbouncer. Dropping it stops it and removes its folder.
#[derive(Debug)]
pub struct Pooler {
    folder: PathBuf,
    port: u16,
    child: Child,
}

impl Pooler {
    pub(crate) fn start(server_port: u16) -> Result<Self, ServerError> {
        let io = |what: &'static str| move |source| ServerError::Io { what, source };
        let program = PROGRAMS.iter().map(Path::new).find(|path| path.exists());
        let program = program.ok_or(ServerError::NoPooler)?;
        let folder = base()?.join(format!("pooler-{:016x}", fastrand::u64(..)));
        std::fs::create_dir_all(&folder).map_err(io("making a folder for pgbouncer"))?;
        give(&folder)?;
        let port = free_port()?;
        // Fewer connections than clients, so that they are really shared.
        let settings = format!(
            "[databases]\n* = host=127.0.0.1 port={server_port} user=postgres\n\n[pgbouncer]\n\
             listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n\
             pool_mode = transaction\ndefault_pool_size = 3\nmax_client_conn = 200\n"
        );
        let file = folder.join("pgbouncer.ini");
        std::fs::write(&file, settings).map_err(io("writing pgbouncer's configuration"))?;
        let child = command(program)
            .arg("-q")
            .arg(&file)
            .spawn()
            .map_err(io("starting pgbouncer"))?;
        let mut pooler = Self { folder, port, child };
        pooler.wait()?;
        Ok(pooler)
    }

    /// Waits until it listens.
    fn wait(&mut self) -> Result<(), ServerError> {
        let failed = |said: String| ServerError::Failed {
            what: "starting pgbouncer",
            said,
        };
        let end = Instant::now() + START_MAX;
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(failed(format!("it exited with {status}")));
            }
            if Instant::now() > end {
                return Err(failed("it does not listen".to_owned()));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// The URL of a database of the server, through this pooler.
    pub fn url(&self, database: &Database) -> String {
        let (port, name) = (self.port, database.name());
        format!("postgres://postgres@127.0.0.1:{port}/{name}?sslmode=disable")
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        // It may have exited already; the folder is removed in either case.
        drop(self.child.kill());
        drop(self.child.wait());
        drop(std::fs::remove_dir_all(&self.folder));
    }
}
