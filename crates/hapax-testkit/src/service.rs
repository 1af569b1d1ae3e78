//! The service as a process: set up, started, watched, signalled, killed, restarted.

mod setup;

use std::fs::{File, OpenOptions};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::process::Child;

use super::{Connection, Delivery, HttpResponse, Outcome, eventually, run, within};

pub use setup::Setup;

/// A service that is not ready by then is broken. Debug builds on a busy machine are slow.
const READY_LIMIT: Duration = Duration::from_secs(20);

/// Lines of the log that a failed test shows.
const LOG_LINES_SHOWN: usize = 30;

/// The service. It is killed when dropped, by its own process id; its log is printed if the test failed.
pub struct Service {
    pub setup: Setup,
    child: Child,
}

impl Service {
    pub fn spawn(setup: Setup) -> Self {
        let child = launch(&setup);
        Self { setup, child }
    }

    pub const fn address(&self) -> SocketAddr {
        self.setup.listen
    }

    pub fn pid(&self) -> Pid {
        let id = self.child.id().expect("the service has ended");
        Pid::from_raw(i32::try_from(id).unwrap()).unwrap()
    }

    /// Waits until `/readyz` succeeds. If the service exited instead, reports why.
    pub async fn until_ready(&mut self) {
        let admin = self.setup.admin;
        let child = &mut self.child;
        let log = log_path(&self.setup);
        eventually("the service is ready", READY_LIMIT, async || {
            if let Some(status) = child.try_wait().unwrap() {
                panic!(
                    "the service ended with {status}:\n{}",
                    std::fs::read_to_string(&log).unwrap_or_default()
                );
            }
            let answer = get(admin, "/readyz").await.ok()?;
            (answer.status == 200).then_some(())
        })
        .await;
    }

    /// Sends a delivery over its own connection.
    pub async fn deliver(&self, delivery: &Delivery) -> HttpResponse {
        Connection::to(self.address()).deliver(delivery).await
    }

    /// Sends it twice, as every provider does sooner or later: new, then a duplicate. Returns its Hapax id.
    #[track_caller]
    pub fn deliver_twice(&self, delivery: &Delivery) -> impl Future<Output = String> {
        let caller = std::panic::Location::caller();
        let address = self.address();
        async move {
            let mut connection = Connection::to(address);
            let first = connection.deliver(delivery).await;
            let second = connection.deliver(delivery).await;
            assert_eq!(first.field("status"), "accepted", "at {caller}: {}", first.text());
            assert_eq!(
                second.field("status"),
                "duplicate",
                "at {caller}: {}",
                second.text()
            );
            assert_eq!(first.field("id"), second.field("id"), "at {caller}");
            first.field("id")
        }
    }

    /// Any path of the admin port.
    pub async fn admin(&self, path: &str) -> HttpResponse {
        get(self.setup.admin, path)
            .await
            .unwrap_or_else(|error| panic!("no answer from the admin port: {error:#}"))
    }

    /// A document of the admin API.
    pub async fn api(&self, path: &str) -> Value {
        let answer = self.admin(&format!("/api/v1/{path}")).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    }

    /// Runs a command against this service.
    pub async fn hapax(&self, arguments: &[&str]) -> Outcome {
        run(self.setup.path(), arguments).await
    }

    /// Waits until the event has this status.
    pub async fn until_event_is(&self, id: &str, status: &str, limit: Duration) -> Value {
        let what = format!("event {id} is {status}");
        eventually(&what, limit, async || {
            let event = self.api(&format!("events/{id}")).await;
            (event["status"] == status).then_some(event)
        })
        .await
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Sends SIGKILL and waits until the process is gone.
    pub async fn kill(&mut self) {
        self.child.kill().await.unwrap();
    }

    /// Waits until it has exited on its own.
    pub async fn ended(&mut self, limit: Duration) -> ExitStatus {
        within("the service ends", limit, self.child.wait())
            .await
            .unwrap()
    }

    /// Starts it again after it has exited.
    pub async fn start_again(&mut self) {
        self.child = launch(&self.setup);
        self.until_ready().await;
    }

    /// Sends SIGTERM and waits for exit code 0.
    pub async fn stop(&mut self) {
        self.signal(Signal::TERM);
        let status = self.ended(Duration::from_secs(30)).await;
        assert_eq!(status.code(), Some(0), "{}", self.log());
    }

    pub async fn restart(&mut self) {
        self.stop().await;
        self.start_again().await;
    }

    /// Stops it, changes the configuration, and starts it again.
    pub async fn restart_with(&mut self, change: impl FnOnce(Setup) -> Setup) {
        self.stop().await;
        let unused = Setup::new();
        let setup = std::mem::replace(&mut self.setup, unused);
        self.setup = change(setup);
        self.setup.write();
        self.start_again().await;
    }

    /// Changes the configuration and sends SIGHUP; does not wait.
    pub fn reload(&mut self, change: impl FnOnce(Setup) -> Setup) {
        let unused = Setup::new();
        let setup = std::mem::replace(&mut self.setup, unused);
        self.setup = change(setup);
        self.setup.write();
        self.signal(Signal::HUP);
    }

    /// The setup of a process that is gone.
    pub fn into_setup(mut self) -> Setup {
        let unused = Setup::new();
        std::mem::replace(&mut self.setup, unused)
    }

    /// Its whole log so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(log_path(&self.setup)).unwrap_or_default()
    }

    /// Resident memory in bytes.
    pub fn resident_bytes(&self) -> u64 {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.pid().as_raw_nonzero())).unwrap();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .unwrap();
        line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap() * 1024
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = self.log();
            let lines: Vec<&str> = log.lines().collect();
            let last = &lines[lines.len().saturating_sub(LOG_LINES_SHOWN)..];
            eprintln!("--- the last that the service said ---\n{}", last.join("\n"));
        }
        // It may already have exited, which is fine.
        let _ = self.child.start_kill();
    }
}

/// A request to the admin port.
pub(crate) async fn get(address: SocketAddr, path: &str) -> anyhow::Result<HttpResponse> {
    let request = Request::get(path)
        .header("host", address.to_string())
        .body(Full::new(Bytes::new()))?;
    Connection::to(address).send(request).await
}

fn launch(setup: &Setup) -> Child {
    let log = open_log(setup);
    let mut command = setup.command();
    command
        .stdin(Stdio::null())
        .stdout(log.try_clone().unwrap())
        .stderr(log);
    command.spawn().unwrap()
}

fn open_log(setup: &Setup) -> File {
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(log_path(setup))
        .unwrap()
}

fn log_path(setup: &Setup) -> PathBuf {
    setup.path().join("service.log")
}
