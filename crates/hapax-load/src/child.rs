//! Helpers that run in their own processes: the ceiling, the sink and the load client.
//!
//! All are hidden verbs of this binary. A server prints its address on the first line; the client prints its report.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context as _;
use hapax_config::Environment;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, Command};

use super::report::Report;

const START_LIMIT: Duration = Duration::from_secs(10);

/// A helper that serves. It is killed when this is dropped, and exits when this process ends.
pub(crate) struct Server {
    address: SocketAddr,
    // Dropping it kills the process and closes its stdin.
    child: Child,
}

impl Server {
    /// Starts the verb and waits for its address.
    pub(crate) async fn start(verb: &str) -> anyhow::Result<Self> {
        let mut child = command()?
            .args([verb, "--listen", "127.0.0.1:0"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("`hapax {verb}` could not be started"))?;
        let stdout = child.stdout.take().context("the helper has no stdout")?;
        let mut line = String::new();
        tokio::time::timeout(START_LIMIT, BufReader::new(stdout).read_line(&mut line))
            .await
            .with_context(|| format!("`hapax {verb}` did not print its address"))??;
        let address = line.trim().parse();
        let address = address.with_context(|| format!("`hapax {verb}` ended without an address"))?;
        Ok(Self { address, child })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn pid(&self) -> anyhow::Result<u32> {
        self.child.id().context("the helper has no process id")
    }
}

/// The attackers. They stop when this is dropped.
pub(crate) struct Attack {
    _child: Child,
}

impl Attack {
    /// Starts the attackers, and waits until all of them are connected.
    pub(crate) async fn start(address: SocketAddr, path: &str, connections: usize) -> anyhow::Result<Self> {
        let mut child = command()?
            .args(["attack", "--address", &address.to_string(), "--path", path])
            .args(["--connections", &connections.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("`hapax attack` could not be started")?;
        let stdout = child.stdout.take().context("the attacker has no stdout")?;
        let mut line = String::new();
        tokio::time::timeout(START_LIMIT, BufReader::new(stdout).read_line(&mut line))
            .await
            .context("`hapax attack` did not connect in time")??;
        anyhow::ensure!(!line.is_empty(), "`hapax attack` ended; its reason is above");
        Ok(Self { _child: child })
    }
}

/// The arguments of the load client.
#[derive(Clone, Debug)]
pub(crate) struct Load<'a> {
    pub address: SocketAddr,
    /// The path, such as `/in/bench`.
    pub path: &'a str,
    pub secret: &'a str,
    pub connections: usize,
    /// Maximum duration.
    pub seconds: u64,
    /// Number of different deliveries.
    pub distinct: usize,
    /// Send only this many ids, each time with a different body.
    pub conflicting: Option<usize>,
    /// A file with the ids to send, in place of random ones.
    pub ids: Option<&'a Path>,
    pub seed: u64,
    /// `--repeat` or nothing.
    pub order: super::client::Order,
    /// Maximum requests per second.
    pub rate: Option<u32>,
}

/// Runs the load client until it ends.
pub(crate) async fn load(load: &Load<'_>) -> anyhow::Result<Report> {
    let mut command = command()?;
    command
        .arg("load")
        .args(["--address", &load.address.to_string(), "--path", load.path])
        .args([
            "--connections",
            &load.connections.to_string(),
            "--seconds",
            &load.seconds.to_string(),
        ])
        .args([
            "--distinct",
            &load.distinct.to_string(),
            "--seed",
            &load.seed.to_string(),
        ])
        // Not as an argument, where every user of the machine could read it.
        .env(SECRET_VARIABLE, load.secret)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    if load.order == super::client::Order::Repeat {
        command.arg("--repeat");
    }
    if let Some(ids) = load.conflicting {
        command.args(["--conflicting", &ids.to_string()]);
    }
    if let Some(ids) = load.ids {
        command.arg("--ids").arg(ids);
    }
    if let Some(rate) = load.rate {
        command.args(["--rate", &rate.to_string()]);
    }
    let mut child = command.spawn().context("`hapax load` could not be started")?;
    let mut text = String::new();
    let mut stdout = child.stdout.take().context("the load client has no stdout")?;
    stdout.read_to_string(&mut text).await?;
    let status = child.wait().await?;
    anyhow::ensure!(
        status.success(),
        "the load client failed ({status}); its reason is above"
    );
    serde_json::from_str(&text).context("the load client printed something that is not its report")
}

/// The environment variable that passes the secret to the load client.
pub const SECRET_VARIABLE: &str = "HAPAX_LOAD_SECRET";

/// This binary, without `HAPAX_` variables from the environment, killed when its handle is dropped.
pub(crate) fn command() -> anyhow::Result<Command> {
    let binary = std::env::current_exe().context("the path of this binary is not known")?;
    let mut command = Command::new(binary);
    for name in ours(&Environment::of_process()) {
        command.env_remove(name);
    }
    command.kill_on_drop(true);
    Ok(command)
}

fn ours(environment: &Environment) -> impl Iterator<Item = &str> {
    environment.beginning_with("HAPAX_").map(|(name, _)| name)
}

/// Returns when the parent ends, for any reason: that closes our stdin.
pub async fn parent_gone() {
    let (gone, wait) = tokio::sync::oneshot::channel::<()>();
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        drop(gone);
    });
    let _ = wait.await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_ours_do_not_reach_a_measured_service() {
        let environment =
            Environment::with(["HAPAX_STORE__URL", "PATH", "HAPAX_CONFIG"].map(|name| (name, "set")));
        let removed: Vec<&str> = ours(&environment).collect();
        assert_eq!(removed, ["HAPAX_CONFIG", "HAPAX_STORE__URL"]);
    }
}
