//! curl, which speaks HTTP/1.1 and HTTP/2 over TLS.

use std::path::Path;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use super::certificate::Authority;
use crate::{Delivery, within};

const LIMIT: Duration = Duration::from_secs(30);

pub const VERSIONS: [(&str, &str); 2] = [("--http1.1", "1.1"), ("--http2", "2")];

/// A request that has not been sent yet.
pub struct Curl {
    command: Command,
    body: Vec<u8>,
}

#[derive(Debug)]
pub struct Answered {
    /// 0 if there was no response.
    pub status: u16,
    /// As curl writes it: `1.1` or `2`.
    pub version: String,
    pub body: String,
    /// curl's exit code.
    pub code: Option<i32>,
}

impl Curl {
    pub fn get(url: &str) -> Self {
        let mut command = Command::new("curl");
        command
            .args(["--silent", "--show-error", "--max-time", "20", "--output", "-"])
            .args(["--write-out", "\n%{http_code} %{http_version}", url])
            .kill_on_drop(true);
        Self {
            command,
            body: Vec::new(),
        }
    }

    /// A delivery to a port of this machine.
    pub fn deliver(base: &str, delivery: &Delivery) -> Self {
        let mut curl = Self::get(&format!("{base}{}", delivery.path)).with(&["--data-binary", "@-"]);
        for (name, value) in &delivery.headers {
            let header = format!("{name}: {}", String::from_utf8_lossy(value));
            curl = curl.with(&["--header", &header]);
        }
        curl.body = delivery.body.to_vec();
        curl
    }

    pub fn with(mut self, arguments: &[&str]) -> Self {
        self.command.args(arguments);
        self
    }

    pub fn trusting(mut self, authority: &Authority) -> Self {
        self.command.arg("--cacert").arg(authority.path());
        self
    }

    /// Presents a client certificate with its key.
    pub fn showing(mut self, pem: &Path) -> Self {
        self.command.arg("--cert").arg(pem);
        self
    }

    pub async fn run(mut self) -> Answered {
        let pipe = std::process::Stdio::piped;
        let mut child = self
            .command
            .stdin(pipe())
            .stdout(pipe())
            .stderr(pipe())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let sending = tokio::spawn(async move {
            // A server that refuses early closes before it has read everything.
            let _ = stdin.write_all(&self.body).await;
        });
        let output = within("curl ends", LIMIT, child.wait_with_output())
            .await
            .unwrap();
        sending.abort();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let (body, line) = text.rsplit_once('\n').unwrap_or_default();
        let (status, version) = line.split_once(' ').unwrap_or_default();
        Answered {
            status: status.parse().unwrap_or_default(),
            version: version.to_owned(),
            body: body.to_owned(),
            code: output.status.code(),
        }
    }
}
