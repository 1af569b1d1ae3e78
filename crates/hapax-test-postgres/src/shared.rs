//! The server shared by all test processes of a run.
//!
//! Its folder has three files: `lock` is held by the process that starts or stops the server; `users` is held, shared,
//! by every process that uses it; `port` contains its port. A small shell script waits until no one holds `users`, then
//! stops the server and removes its data.
//!
//! The data is in memory if there is room: hundreds of tests create and drop their own databases, which flushes a disk
//! each time. Tests that kill a server have a private one, on disk.

use std::fs::{File, OpenOptions};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use parking_lot::Mutex;

use crate::ServerError;
use crate::daemon::{create, start};
use crate::folder::base;
use crate::program::{is_root, named, programs};

/// Seconds between the last user's exit and the server's.
const LINGER_SECONDS: u32 = 10;

/// Linux's in-memory file system.
const MEMORY: &str = "/dev/shm";
/// The databases of a run, with room to spare.
const MEMORY_BYTES_MIN: u64 = 6 << 30;

/// Our hold on the server, for the life of the process.
static HELD: Mutex<Option<Held>> = Mutex::new(None);

struct Held {
    _users: File,
    folder: PathBuf,
    port: u16,
}

/// Starts the server unless it is running. Returns its folder and port.
pub(crate) fn join() -> Result<(PathBuf, u16), ServerError> {
    let mut held = HELD.lock();
    if let Some(held) = &*held {
        return Ok((held.folder.clone(), held.port));
    }
    let folder = base()?.join(name());
    let io = |what: &'static str| move |source| ServerError::Io { what, source };
    std::fs::create_dir_all(&folder).map_err(io("making a folder for the server"))?;
    let lock = open(&folder.join("lock")).map_err(io("opening the server's lock"))?;
    lock.lock().map_err(io("locking the server"))?;
    let users = open(&folder.join("users")).map_err(io("opening the server's users"))?;
    users.lock_shared().map_err(io("joining the server's users"))?;
    let port = match running(&folder) {
        Some(port) => port,
        None => start_anew(&folder)?,
    };
    *held = Some(Held {
        _users: users,
        folder: folder.clone(),
        port,
    });
    Ok((folder, port))
}

/// Programs from a configured folder get their own server, separate from that of the installed ones.
fn name() -> String {
    let Some(programs) = named() else {
        return "shared".to_owned();
    };
    let mut hasher = DefaultHasher::new();
    programs.hash(&mut hasher);
    format!("shared-{:016x}", hasher.finish())
}

fn open(path: &Path) -> std::io::Result<File> {
    OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(path)
}

fn running(folder: &Path) -> Option<u16> {
    let port = std::fs::read_to_string(folder.join("port"))
        .ok()?
        .trim()
        .parse()
        .ok()?;
    // After the machine has crashed, the port may belong to another process.
    let pid = std::fs::read_to_string(folder.join("server/data/postmaster.pid")).ok()?;
    let is_alive = Path::new("/proc").join(pid.lines().next()?).exists();
    TcpStream::connect(("127.0.0.1", port)).ok()?;
    is_alive.then_some(port)
}

/// An empty folder for the server, in memory if there is room. Anything left there by a machine that went down is
/// removed.
fn make_room(folder: &Path) -> std::io::Result<PathBuf> {
    let server = folder.join("server");
    if let Ok(old) = server.canonicalize() {
        std::fs::remove_dir_all(old)?;
    }
    if server.is_symlink() {
        std::fs::remove_file(&server)?;
    }
    let memory = Path::new(MEMORY);
    let free = rustix::fs::statvfs(memory).map_or(0, |found| found.f_bavail * found.f_frsize);
    if free >= MEMORY_BYTES_MIN {
        let place = memory.join(format!("hapax-test-postgres-{:016x}", fastrand::u64(..)));
        std::fs::create_dir(&place)?;
        std::os::unix::fs::symlink(place, &server)?;
    }
    Ok(server)
}

/// The watchdog locks in the same order as we do, `lock` then `users`, so that no one joins a server that is stopping.
const WATCHDOG: &str = r#"
    folder=$1; pg_ctl=$2; linger=$3; shift 3
    exec 8<>"$folder/lock" 9<>"$folder/users"
    while :; do
        flock --exclusive 9; flock --unlock 9
        sleep "$linger"
        flock --exclusive 8
        if flock --exclusive --nonblock 9; then
            "$@" "$pg_ctl" stop --wait --mode immediate -D "$folder/server/data" 8>&- 9>&-
            rm -rf "$(readlink -f "$folder/server")" "$folder/server" "$folder/port"
            exit 0
        fi
        flock --unlock 8
    done
"#;

fn start_anew(folder: &Path) -> Result<u16, ServerError> {
    let io = |what: &'static str| move |source| ServerError::Io { what, source };
    let server = make_room(folder).map_err(io("making room for the server"))?;
    create(&server, &[])?;
    let port = start(&server)?;
    std::fs::write(folder.join("port"), port.to_string()).map_err(io("writing the server's port"))?;
    let mut watchdog = Command::new("setsid");
    watchdog
        .args(["--fork", "sh", "-c", WATCHDOG, "watchdog"])
        .arg(folder)
        .arg(programs()?.join("pg_ctl"))
        .arg(LINGER_SECONDS.to_string());
    if is_root() {
        watchdog.args([
            "setpriv",
            "--reuid",
            "postgres",
            "--regid",
            "postgres",
            "--clear-groups",
            "--",
        ]);
    } else {
        watchdog.arg("env");
    }
    let status = watchdog
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map_err(io("starting the server's watchdog"))?;
    if status.success() {
        Ok(port)
    } else {
        Err(ServerError::Failed {
            what: "starting the server's watchdog",
            said: String::new(),
        })
    }
}
