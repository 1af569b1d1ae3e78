//! Servers shared by all test processes of a run.
//!
//! Their folder has three files: `lock` is held by the process that starts or stops them; `users` is held, shared, by
//! every process that uses them; `ports` contains their ports. A small shell script waits until no one holds `users`,
//! then ends the servers and removes their data.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use parking_lot::Mutex;

use crate::ServerError;
use crate::folder::base;
use crate::node::{Node, answers};

/// Seconds between the last user's exit and the servers'.
const LINGER_SECONDS: u32 = 10;

/// The files this process holds for its life, one for each kind of server.
static HELD: Mutex<BTreeMap<&'static str, File>> = Mutex::new(BTreeMap::new());

/// Starts the servers unless they are running.
pub(crate) fn join(
    kind: &'static str,
    start: impl FnOnce(&Path) -> Result<Vec<Node>, ServerError>,
) -> Result<Vec<Node>, ServerError> {
    let mut held = HELD.lock();
    let folder = base()?.join("shared").join(kind);
    std::fs::create_dir_all(&folder).map_err(ServerError::io("making a folder for shared servers"))?;
    let lock = open(&folder.join("lock"))?;
    lock.lock().map_err(ServerError::io("locking the servers"))?;
    if !held.contains_key(kind) {
        let users = open(&folder.join("users"))?;
        users
            .lock_shared()
            .map_err(ServerError::io("joining the servers' users"))?;
        held.insert(kind, users);
    }
    match running(&folder) {
        Some(nodes) => Ok(nodes),
        None => start_anew(&folder, start),
    }
}

fn open(path: &Path) -> Result<File, ServerError> {
    OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(path)
        .map_err(ServerError::io("opening a lock of the servers"))
}

fn running(folder: &Path) -> Option<Vec<Node>> {
    let ports = std::fs::read_to_string(folder.join("ports")).ok()?;
    let ports: Vec<u16> = ports
        .split_whitespace()
        .map(str::parse)
        .collect::<Result<_, _>>()
        .ok()?;
    let nodes = ports.iter().enumerate().map(|(index, port)| {
        let folder = place(folder, index);
        answers(&folder, *port).then(|| Node::joined(folder, *port))
    });
    nodes.collect()
}

fn place(folder: &Path, index: usize) -> PathBuf {
    folder.join(format!("node-{index}"))
}

/// The watchdog locks in the same order as we do, `lock` then `users`, so that no one joins servers that are stopping.
const WATCHDOG: &str = r#"
    folder=$1; linger=$2
    exec 8<>"$folder/lock" 9<>"$folder/users"
    while :; do
        flock --exclusive 9; flock --unlock 9
        sleep "$linger"
        flock --exclusive 8
        if flock --exclusive --nonblock 9; then
            for pid in "$folder"/node-*/pid; do kill -9 "$(cat "$pid")"; done
            rm -rf "$folder"/node-* "$folder/ports"
            exit 0
        fi
        flock --unlock 8
    done
"#;

fn start_anew(
    folder: &Path,
    start: impl FnOnce(&Path) -> Result<Vec<Node>, ServerError>,
) -> Result<Vec<Node>, ServerError> {
    let mut index = 0;
    while place(folder, index).exists() {
        // Left over from a machine that went down.
        std::fs::remove_dir_all(place(folder, index)).map_err(ServerError::io("removing an old server"))?;
        index += 1;
    }
    watch(folder)?;
    let nodes = start(folder)?;
    let ports: Vec<String> = nodes.iter().map(|node| node.port().to_string()).collect();
    std::fs::write(folder.join("ports"), ports.join(" "))
        .map_err(ServerError::io("writing the servers' ports"))?;
    Ok(nodes)
}

/// Starts the watchdog before the servers, so that a start that fails half-way leaves nothing running.
fn watch(folder: &Path) -> Result<(), ServerError> {
    let status = Command::new("setsid")
        .args(["--fork", "sh", "-c", WATCHDOG, "watchdog"])
        .arg(folder)
        .arg(LINGER_SECONDS.to_string())
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map_err(ServerError::io("starting the servers' watchdog"))?;
    if status.success() {
        return Ok(());
    }
    Err(ServerError::Failed {
        what: "starting the servers' watchdog",
        said: status.to_string(),
    })
}
