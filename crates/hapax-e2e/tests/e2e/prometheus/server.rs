//! A real Prometheus with the shipped rules, unmodified: its own port, its own folder, gone with the test.

use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use serde_json::Value;
use tempfile::TempDir;
use tokio::process::{Child, Command};

use hapax_testkit::{Connection, eventually, free_address};

/// The shipped rules.
pub(super) fn rules() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/prometheus/rules.yml")
}

/// Scrapes one service every second. It is killed when dropped.
pub(super) struct Prometheus {
    address: SocketAddr,
    folder: TempDir,
    _child: Child,
}

impl Prometheus {
    /// Starts it and waits until it is ready.
    pub(super) async fn scraping(target: SocketAddr) -> Self {
        let (address, folder) = (free_address(), tempfile::tempdir().unwrap());
        let path = folder.path();
        std::fs::write(path.join("prometheus.yml"), configuration(target)).unwrap();
        let log = File::create(path.join("prometheus.log")).unwrap();
        let child = Command::new("prometheus")
            .arg("--config.file=prometheus.yml")
            .arg("--storage.tsdb.path=data")
            .arg(format!("--web.listen-address={address}"))
            .arg("--enable-feature=exemplar-storage")
            .arg("--log.level=warn")
            .current_dir(path)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .expect("prometheus is not installed: run `./test tools`");
        let prometheus = Self {
            address,
            folder,
            _child: child,
        };
        eventually("Prometheus is ready", Duration::from_secs(30), async || {
            let answer = prometheus.get("/-/ready").await?;
            (answer.status == 200).then_some(())
        })
        .await;
        prometheus
    }

    /// The value of an expression; `None` while it has no series.
    pub(super) async fn value(&self, expression: &str) -> Option<f64> {
        let found = self.ask("query", &[("query", expression)]).await;
        let value = found["result"][0]["value"][1].as_str()?;
        Some(value.parse().unwrap())
    }

    /// The data of a response of its API.
    pub(super) async fn ask(&self, path: &str, parameters: &[(&str, &str)]) -> Value {
        let query = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(parameters)
            .finish();
        let answer = self.get(&format!("/api/v1/{path}?{query}")).await;
        let answer = answer.unwrap_or_else(|| panic!("no answer from Prometheus:\n{}", self.log()));
        let mut document = answer.json();
        assert_eq!(document["status"], "success", "{document}");
        document["data"].take()
    }

    /// Its complaints.
    pub(super) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("prometheus.log")).unwrap_or_default()
    }

    async fn get(&self, path: &str) -> Option<hapax_testkit::HttpResponse> {
        let request = Request::get(path)
            .header("host", self.address.to_string())
            .body(Full::new(Bytes::new()))
            .unwrap();
        Connection::to(self.address).send(request).await.ok()
    }
}

fn configuration(target: SocketAddr) -> String {
    format!(
        "global:\n  scrape_interval: 1s\n  scrape_timeout: 1s\n  evaluation_interval: 1s\n\
         rule_files:\n  - {}\n\
         scrape_configs:\n  - job_name: hapax\n    static_configs:\n      - targets: ['{target}']\n",
        rules().display()
    )
}
