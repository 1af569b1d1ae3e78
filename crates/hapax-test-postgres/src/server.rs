//! One server: created, started, stopped, killed, and finally removed.

use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};

use crate::ServerError;
use crate::certificate;
use crate::daemon::{self, Stop, create, halt, launch, start};
use crate::database::Database;
use crate::folder::base;
use crate::pooler::Pooler;
use crate::program::{command, give, programs, run};
use crate::shared;

/// A running server. A private one is stopped, and its folder removed, when it is dropped.
#[derive(Debug)]
pub struct Server {
    folder: PathBuf,
    port: u16,
    ownership: Ownership,
}

#[derive(Debug)]
enum Ownership {
    /// Used by other processes, too.
    Shared,
    Private,
}

impl Server {
    /// The server shared by all test processes.
    pub fn shared() -> Result<Self, ServerError> {
        let (folder, port) = shared::join()?;
        Ok(Self {
            folder,
            port,
            ownership: Ownership::Shared,
        })
    }

    /// A server for this test alone, which may stop and kill it. `settings` are lines of its configuration, such as
    /// `fsync = off`.
    pub fn private(settings: &[&str]) -> Result<Self, ServerError> {
        let folder = base()?.join(format!("private-{:016x}", fastrand::u64(..)));
        create(&folder, settings)?;
        let port = start(&folder)?;
        Ok(Self {
            folder,
            port,
            ownership: Ownership::Private,
        })
    }

    /// A private server with TLS, as `localhost`, signed by [`Server::authority`].
    pub fn encrypted() -> Result<Self, ServerError> {
        Self::with_certificate(certificate::make)
    }

    /// The same with a self-signed X.509 version 1 certificate.
    pub fn encrypted_with_version_1() -> Result<Self, ServerError> {
        Self::with_certificate(certificate::make_version_1)
    }

    fn with_certificate(make: fn(&Path) -> Result<(), ServerError>) -> Result<Self, ServerError> {
        let folder = base()?.join(format!("private-{:016x}", fastrand::u64(..)));
        std::fs::create_dir_all(&folder).map_err(|source| ServerError::Io {
            what: "making a folder for the server",
            source,
        })?;
        give(&folder)?;
        make(&folder)?;
        let file = |name: &str| format!("'{}'", folder.join(name).display());
        let certificate = format!("ssl_cert_file = {}", file(certificate::CERTIFICATE));
        let key = format!("ssl_key_file = {}", file(certificate::KEY));
        create(&folder, &["ssl = on", &certificate, &key])?;
        let port = start(&folder)?;
        Ok(Self {
            folder,
            port,
            ownership: Ownership::Private,
        })
    }

    /// A standby that follows this server until it is promoted.
    pub fn standby(&self) -> Result<Self, ServerError> {
        let folder = base()?.join(format!("private-{:016x}", fastrand::u64(..)));
        std::fs::create_dir_all(&folder).map_err(|source| ServerError::Io {
            what: "making a folder for the server",
            source,
        })?;
        give(&folder)?;
        let mut backup = command(&programs()?.join("pg_basebackup"));
        backup
            .args([
                "--checkpoint=fast",
                "--wal-method=stream",
                "--write-recovery-conf",
            ])
            .args(["--host=127.0.0.1", "--username=postgres", "--port"])
            .arg(self.port.to_string())
            .arg("-D")
            .arg(folder.join("data"));
        run(&mut backup, "copying the server")?;
        let port = start(&folder)?;
        Ok(Self {
            folder,
            port,
            ownership: Ownership::Private,
        })
    }

    /// Makes a standby the primary.
    pub fn promote(&self) -> Result<(), ServerError> {
        let mut pg_ctl = command(&programs()?.join("pg_ctl"));
        pg_ctl
            .args(["promote", "--wait", "--timeout=60", "-D"])
            .arg(self.folder.join("data"));
        run(&mut pg_ctl, "promoting the standby")
    }

    /// A pgbouncer in front of this server, in transaction mode.
    pub fn pooler(&self) -> Result<Pooler, ServerError> {
        Pooler::start(self.port)
    }

    pub const fn port(&self) -> u16 {
        self.port
    }

    /// The file with the certificate of the authority that signed [`Server::encrypted`].
    pub fn authority(&self) -> PathBuf {
        self.folder.join(certificate::AUTHORITY)
    }

    /// The file with the server's own certificate, if it has TLS.
    pub fn certificate(&self) -> PathBuf {
        self.folder.join(certificate::CERTIFICATE)
    }

    pub async fn database(&self) -> Result<Database, ServerError> {
        Database::create(self.port).await
    }

    /// The server's log.
    pub fn log(&self) -> Result<String, ServerError> {
        std::fs::read_to_string(self.folder.join("log")).map_err(|source| ServerError::Io {
            what: "reading the server's log",
            source,
        })
    }

    /// Stops every process of the server from writing files, as if its disk were full.
    pub fn fill_disk(&self) -> Result<(), ServerError> {
        for process in self.processes()? {
            let mut prlimit = command(Path::new("prlimit"));
            prlimit.arg("--fsize=0:").arg("--pid").arg(&process);
            let limited = run(&mut prlimit, "limiting the server's files");
            // The first one that finds no space takes the others down with it.
            if Path::new("/proc").join(process).exists() {
                limited?;
            }
        }
        Ok(())
    }

    /// Sends SIGSTOP to every process: connections stay open, and nothing is answered until [`Server::thaw`].
    pub fn freeze(&self) -> Result<(), ServerError> {
        self.signal(Signal::STOP)
    }

    /// Sends SIGCONT to every process: they resume where they stopped.
    pub fn thaw(&self) -> Result<(), ServerError> {
        self.signal(Signal::CONT)
    }

    fn signal(&self, signal: Signal) -> Result<(), ServerError> {
        // The first one is the parent of the others.
        for process in self.processes()? {
            let process = process.parse().ok().and_then(Pid::from_raw);
            match process.map(|process| kill_process(process, signal)) {
                Some(Err(error)) if error != Errno::SRCH => {
                    return Err(ServerError::Io {
                        what: "sending the server a signal",
                        source: error.into(),
                    });
                }
                // It has exited in the meantime.
                Some(Ok(()) | Err(_)) | None => {}
            }
        }
        Ok(())
    }

    /// Whether any process of the server exists.
    pub fn is_running(&self) -> Result<bool, ServerError> {
        Ok(!self.processes()?.is_empty())
    }

    fn processes(&self) -> Result<Vec<String>, ServerError> {
        daemon::processes(&self.folder).map_err(|source| ServerError::Io {
            what: "looking for the server's processes",
            source,
        })
    }

    /// Stops the server and ends all connections.
    pub fn stop(&self, stop: Stop) -> Result<(), ServerError> {
        halt(&self.folder, stop)
    }

    /// Starts it again after [`Server::stop`], on the same port.
    pub fn start(&self) -> Result<(), ServerError> {
        launch(&self.folder, self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        match self.ownership {
            Ownership::Shared => {}
            Ownership::Private => {
                // A frozen server would not receive the signal to stop. It may be stopped already; the folder is
                // removed in either case.
                drop(self.thaw());
                drop(halt(&self.folder, Stop::Immediate));
                drop(std::fs::remove_dir_all(&self.folder));
            }
        }
    }
}
