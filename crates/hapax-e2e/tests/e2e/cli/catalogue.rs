//! Every provider of the catalogue against a running `hapax dev`: each signed request is accepted once.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use hapax_verify::catalogue::{self, Provider};
use tokio::net::TcpStream;
use tokio::process::Child;

use hapax_testkit::{Outcome, command_in, eventually, free_address, run};

const START_LIMIT: Duration = Duration::from_secs(20);

/// `hapax dev` in its own folder; it ends with the test.
struct Dev {
    directory: tempfile::TempDir,
    ingest: SocketAddr,
    admin: SocketAddr,
    _process: Child,
}

impl Dev {
    async fn start() -> Self {
        let (ingest, admin) = (free_address(), free_address());
        let directory = tempfile::tempdir().unwrap();
        let mut command = command_in(directory.path());
        let ports = [ingest.port().to_string(), admin.port().to_string()];
        command.args(["dev", "--port", &ports[0], "--admin-port", &ports[1]]);
        let process = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        eventually("hapax dev listens", START_LIMIT, async || {
            TcpStream::connect(ingest).await.ok()
        })
        .await;
        Self {
            directory,
            ingest,
            admin,
            _process: process,
        }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    async fn send(&self, provider: &str) -> Outcome {
        let to = format!("http://{}/in/{provider}", self.ingest);
        run(
            self.path(),
            &["send", provider, "--to", &to, "--times", "2", "--json"],
        )
        .await
    }

    async fn events(&self, provider: &str) -> usize {
        let admin = format!("http://{}", self.admin);
        let list = [
            "events", "list", "--source", provider, "--admin", &admin, "--json",
        ];
        let listed = run(self.path(), &list).await.json();
        listed["events"].as_array().unwrap().len()
    }
}

/// Dropbox only notifies that something changed, possibly twice in the same bytes: each notification is an event.
fn is_never_a_duplicate(provider: &Provider) -> bool {
    provider.identity.event_id.is_none()
}

#[tokio::test]
async fn what_every_provider_sends_twice_is_accepted_once() {
    let dev = Dev::start().await;
    let mut failures = Vec::new();
    for provider in catalogue::all() {
        let name = &provider.name;
        let sent = dev.send(name).await;
        if sent.code != Some(0) {
            failures.push(format!("{name}: {} {}", sent.stdout, sent.stderr));
            continue;
        }
        let expected = if is_never_a_duplicate(provider) { 2 } else { 1 };
        let events = dev.events(name).await;
        if events != expected {
            failures.push(format!("{name}: {events} events: {}", sent.stdout));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
