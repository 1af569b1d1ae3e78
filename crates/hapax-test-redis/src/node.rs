//! One `redis-server`: started, frozen, killed, restarted, and finally removed.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use rustix::process::{Pid, Signal, kill_process};

use crate::ServerError;
use crate::folder::free_port;
use crate::wire::{Connection, Reply};

/// Where Debian and others install it.
const PROGRAMS: [&str; 2] = ["/usr/bin/redis-server", "/usr/local/bin/redis-server"];
/// How many ports are tried.
const PORTS_MAX: usize = 5;
/// How long it may take to start, including loading its data.
const START_MAX: Duration = Duration::from_secs(60);
/// The pause between two checks of a starting server.
const LOOK: Duration = Duration::from_millis(5);

/// A running server. A private one is stopped, and its folder removed, when it is dropped.
#[derive(Debug)]
pub struct Node {
    folder: PathBuf,
    port: u16,
    arguments: Vec<String>,
    process: Mutex<Process>,
}

#[derive(Debug)]
enum Process {
    /// Used by other processes, and stopped by the watchdog.
    Shared,
    Running(Child),
    Killed,
}

impl Node {
    /// A private server, on a free port. The arguments are built for each try, because they may contain the port.
    pub(crate) fn private(
        folder: PathBuf,
        arguments: impl Fn() -> Result<Vec<String>, ServerError>,
    ) -> Result<Self, ServerError> {
        let (port, (child, arguments)) = on_a_free_port(|port| {
            let arguments = arguments()?;
            Ok((launch(&folder, port, &arguments)?, arguments))
        })?;
        Ok(Self {
            folder,
            port,
            arguments,
            process: Mutex::new(Process::Running(child)),
        })
    }

    /// A server that outlives this process.
    pub(crate) fn detached(
        folder: &Path,
        arguments: impl Fn() -> Result<Vec<String>, ServerError>,
    ) -> Result<Self, ServerError> {
        std::fs::create_dir_all(folder).map_err(ServerError::io("making a folder for the server"))?;
        let (port, ()) = on_a_free_port(|port| launch_detached(folder, port, &arguments()?))?;
        Ok(Self::joined(folder.to_path_buf(), port))
    }

    /// A server that another process has started.
    pub(crate) const fn joined(folder: PathBuf, port: u16) -> Self {
        Self {
            folder,
            port,
            arguments: Vec::new(),
            process: Mutex::new(Process::Shared),
        }
    }

    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Its process id, unless it was killed.
    pub fn pid(&self) -> Option<u32> {
        match &*self.process() {
            Process::Running(child) => Some(child.id()),
            Process::Shared => std::fs::read_to_string(self.folder.join("pid"))
                .ok()?
                .trim()
                .parse()
                .ok(),
            Process::Killed => None,
        }
    }

    /// Whether it has not been killed.
    pub fn is_running(&self) -> bool {
        !matches!(&*self.process(), Process::Killed)
    }

    /// A connection, to inspect and change data.
    pub fn connect(&self) -> Result<Connection, ServerError> {
        Connection::open(self.port)
    }

    /// One command on its own connection.
    pub fn call<A: AsRef<[u8]>>(&self, command: &[A]) -> Result<Reply, ServerError> {
        self.connect()?.call(command)
    }

    /// One line of `INFO`.
    pub fn info(&self, name: &str) -> Result<Option<String>, ServerError> {
        let all = self.call(&["INFO", "everything"])?.text();
        let value = |line: &str| {
            line.strip_prefix(name)?
                .strip_prefix(':')
                .map(|value| value.trim().to_owned())
        };
        Ok(all.lines().find_map(value))
    }

    /// The server's log.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// Sends SIGKILL: nothing is written out, and connections end.
    pub fn kill(&self) -> Result<(), ServerError> {
        let mut process = self.process();
        match &mut *process {
            Process::Shared => return Err(ServerError::Shared),
            Process::Killed => return Ok(()),
            Process::Running(child) => {
                child.kill().map_err(ServerError::io("killing the server"))?;
                child
                    .wait()
                    .map_err(ServerError::io("waiting for the server's end"))?;
            }
        }
        *process = Process::Killed;
        Ok(())
    }

    /// Starts it again after [`Node::kill`], on the same port and in the same folder.
    pub fn restart(&self) -> Result<(), ServerError> {
        self.kill()?;
        let child = launch(&self.folder, self.port, &self.arguments)?;
        *self.process() = Process::Running(child);
        Ok(())
    }

    /// Sends SIGSTOP: it keeps its connections, and answers nothing until [`Node::thaw`].
    pub fn freeze(&self) -> Result<(), ServerError> {
        self.signal(Signal::STOP)
    }

    /// Sends SIGCONT: it resumes where it stopped.
    pub fn thaw(&self) -> Result<(), ServerError> {
        self.signal(Signal::CONT)
    }

    fn signal(&self, signal: Signal) -> Result<(), ServerError> {
        let Process::Running(child) = &*self.process() else {
            return Err(ServerError::Shared);
        };
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| ServerError::Failed {
            what: "signalling the server",
            said: format!("{} is not a process", child.id()),
        })?;
        kill_process(pid, signal).map_err(|error| ServerError::Io {
            what: "signalling the server",
            source: error.into(),
        })
    }

    fn process(&self) -> MutexGuard<'_, Process> {
        self.process.lock()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // A shared one refuses, and stays. Ours may be gone already; its folder is removed in either case.
        if self.kill().is_ok() {
            drop(std::fs::remove_dir_all(&self.folder));
        }
    }
}

fn on_a_free_port<T>(launch: impl Fn(u16) -> Result<T, ServerError>) -> Result<(u16, T), ServerError> {
    let mut tries = 0;
    loop {
        let port = free_port()?;
        tries += 1;
        match launch(port) {
            Ok(launched) => return Ok((port, launched)),
            // Another process may take the port between our check and the server's start.
            Err(_) if tries < PORTS_MAX => {}
            Err(error) => return Err(error),
        }
    }
}

fn launch(folder: &Path, port: u16, arguments: &[String]) -> Result<Child, ServerError> {
    let mut child = command(folder, port, arguments)?
        .spawn()
        .map_err(ServerError::io("starting the server"))?;
    let ready = wait_until_ready(folder, port, || matches!(child.try_wait(), Ok(None)));
    if ready.is_err() {
        drop(child.kill());
        drop(child.wait());
    }
    ready.map(|()| child)
}

/// Redis detaches from us: ending our process group does not end it.
fn launch_detached(folder: &Path, port: u16, arguments: &[String]) -> Result<(), ServerError> {
    let status = command(folder, port, arguments)?
        .args(["--daemonize", "yes"])
        .status()
        .map_err(ServerError::io("starting the server"))?;
    wait_until_ready(folder, port, || status.success())
}

fn command(folder: &Path, port: u16, arguments: &[String]) -> Result<Command, ServerError> {
    let program = PROGRAMS.iter().map(Path::new).find(|path| path.exists());
    let mut command = Command::new(program.ok_or(ServerError::NotInstalled)?);
    command
        .args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--save", ""])
        .args(["--maxmemory-policy", "noeviction", "--loglevel", "notice"])
        .arg("--dir")
        .arg(folder)
        .arg("--logfile")
        .arg(folder.join("log"))
        .arg("--pidfile")
        .arg(folder.join("pid"))
        .args(arguments)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    Ok(command)
}

/// Waits until the server in this folder, and no other, answers.
fn wait_until_ready(folder: &Path, port: u16, mut lives: impl FnMut() -> bool) -> Result<(), ServerError> {
    let end = Instant::now() + START_MAX;
    while !answers(folder, port) {
        if !lives() || Instant::now() > end {
            return Err(ServerError::Failed {
                what: "starting the server",
                said: std::fs::read_to_string(folder.join("log")).unwrap_or_default(),
            });
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}

/// Whether the server on this port is the one in this folder, with its data loaded. After the machine has crashed, the
/// port may belong to another process. A server with a password does not answer us; that it asks for the password is
/// enough.
pub(crate) fn answers(folder: &Path, port: u16) -> bool {
    let asked = Connection::open(port).and_then(|mut connection| {
        let ping = connection.ask(&["PING"])?;
        let dir = connection.ask(&["CONFIG", "GET", "dir"])?;
        Ok((ping, dir))
    });
    match asked {
        Ok((Reply::Error(said), _)) => said.starts_with("NOAUTH"),
        Ok((_, dir)) => dir.list().get(1).map(Reply::text) == Some(folder.display().to_string()),
        Err(_) => false,
    }
}
