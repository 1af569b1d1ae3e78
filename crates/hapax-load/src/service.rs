//! The service under test: a child process `hapax serve`, with a generated configuration file.

use std::fmt::Write as _;
use std::fs::File;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tokio::process::Child;

use super::child;
use super::connection::get;

const READY_LIMIT: Duration = Duration::from_secs(30);
const READY_EVERY: Duration = Duration::from_millis(2);
const STOP_LIMIT: Duration = Duration::from_secs(30);
const PROBE_LIMIT: Duration = Duration::from_secs(10);
const LOG_LINES_SHOWN: usize = 15;

/// The settings of the service.
pub struct Settings {
    pub store_url: String,
    /// The encryption key of the store; `None` for no encryption.
    pub encryption_key: Option<String>,
    /// Sources, all of Stripe, each with its destinations.
    pub sources: Vec<(&'static str, Vec<&'static str>)>,
    /// The secret of every source.
    pub secret: String,
    /// Additional text for the file, such as destinations.
    pub destinations: String,
}

/// A signing secret that was never used before.
pub(crate) fn new_secret() -> String {
    format!("whsec_{:032x}", fastrand::u128(..))
}

/// Everything needed to start the service, and to restart it after a crash.
pub struct Site {
    folder: PathBuf,
    config: PathBuf,
    ingest: SocketAddr,
    admin: SocketAddr,
    token: String,
}

/// A running service. It is killed when this is dropped.
pub struct Service {
    child: Child,
    ready_after: Duration,
}

impl Site {
    /// Writes the configuration into `folder`, with free ports.
    pub fn create(folder: &Path, settings: &Settings) -> anyhow::Result<Self> {
        // Both are held until both are known, so that they differ.
        let (first, second) = (
            TcpListener::bind("127.0.0.1:0")?,
            TcpListener::bind("127.0.0.1:0")?,
        );
        let site = Self {
            folder: folder.to_owned(),
            config: folder.join("hapax.toml"),
            ingest: first.local_addr()?,
            admin: second.local_addr()?,
            token: format!("{:032x}", fastrand::u128(..)),
        };
        std::fs::write(&site.config, site.text(settings)?)?;
        Ok(site)
    }

    /// Starts the service and waits until it reports that it is ready.
    pub async fn start(&self) -> anyhow::Result<Service> {
        let log = File::options().create(true).append(true).open(self.log())?;
        let started = Instant::now();
        let child = child::command()?
            .arg("serve")
            .arg("--config")
            .arg(&self.config)
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .context("`hapax serve` could not be started")?;
        let mut service = Service {
            child,
            ready_after: Duration::ZERO,
        };
        self.wait_until_ready(&mut service, started).await?;
        service.ready_after = started.elapsed();
        Ok(service)
    }

    /// The address for webhooks.
    pub fn ingest(&self) -> SocketAddr {
        self.ingest
    }

    /// The address of the admin port.
    pub fn admin(&self) -> SocketAddr {
        self.admin
    }

    /// The admin token.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The log file of the service.
    fn log(&self) -> PathBuf {
        self.folder.join("serve.log")
    }

    /// `GET /api/v1/stats`.
    pub async fn stats(&self) -> anyhow::Result<serde_json::Value> {
        let (status, body) = get(self.admin, "/api/v1/stats", &self.token, PROBE_LIMIT).await?;
        anyhow::ensure!(status == 200, "/api/v1/stats answered {status}");
        Ok(serde_json::from_slice(&body)?)
    }

    async fn wait_until_ready(&self, service: &mut Service, started: Instant) -> anyhow::Result<()> {
        loop {
            if let Some(status) = service.child.try_wait()? {
                anyhow::bail!(
                    "`hapax serve` ended ({status}) before it was ready:\n{}",
                    self.last_words()
                );
            }
            if matches!(
                get(self.admin, "/readyz", &self.token, PROBE_LIMIT).await,
                Ok((200, _))
            ) {
                return Ok(());
            }
            anyhow::ensure!(
                started.elapsed() < READY_LIMIT,
                "`hapax serve` was not ready within {READY_LIMIT:?}:\n{}",
                self.last_words()
            );
            tokio::time::sleep(READY_EVERY).await;
        }
    }

    fn last_words(&self) -> String {
        let text = std::fs::read_to_string(self.log()).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(LOG_LINES_SHOWN)..].join("\n")
    }

    fn text(&self, settings: &Settings) -> anyhow::Result<String> {
        let mut text = format!(
            "[server]\nlisten = {}\nadmin_listen = {}\nadmin_token = {}\n\n[store]\nurl = {}\n",
            quoted(&self.ingest.to_string()),
            quoted(&self.admin.to_string()),
            quoted(&self.token),
            quoted(&settings.store_url),
        );
        if let Some(key) = &settings.encryption_key {
            writeln!(text, "encryption_keys = [{}]", quoted(key))?;
        }
        for (source, deliver_to) in &settings.sources {
            let names: Vec<String> = deliver_to.iter().map(|name| quoted(name)).collect();
            write!(
                text,
                "\n[sources.{source}]\nprovider = \"stripe\"\nsecrets = [{}]\ndeliver_to = [{}]\n",
                quoted(&settings.secret),
                names.join(", "),
            )?;
        }
        text.push_str(&settings.destinations);
        Ok(text)
    }
}

impl Service {
    /// From the start of the process to its first 200 at `/readyz`.
    pub fn ready_after(&self) -> Duration {
        self.ready_after
    }

    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// SIGKILL: it has no chance to write anything.
    pub async fn kill(mut self) -> anyhow::Result<()> {
        self.child.kill().await.context("the service could not be killed")
    }

    /// Kills the service and waits until the process has ended. SIGTERM is not needed, because a benchmark's store is
    /// discarded.
    pub async fn end(self) -> anyhow::Result<()> {
        tokio::time::timeout(STOP_LIMIT, self.kill())
            .await
            .context("the service does not stop")?
    }
}

/// The string as a TOML value.
pub(crate) fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_is_toml_whatever_the_paths_contain() {
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings {
            store_url: "sqlite:/a \"b\"\\c.db".to_owned(),
            encryption_key: None,
            sources: vec![("one", vec![]), ("two", vec!["sink"])],
            secret: "whsec_x".to_owned(),
            destinations: "\n[destinations.sink]\nkind = \"http\"\n".to_owned(),
        };
        let site = Site::create(folder.path(), &settings).unwrap();
        let text = std::fs::read_to_string(&site.config).unwrap();
        let table: toml::Table = text.parse().unwrap();
        assert_eq!(table["store"]["url"].as_str(), Some(settings.store_url.as_str()));
        assert_eq!(table["sources"]["two"]["deliver_to"][0].as_str(), Some("sink"));
        assert_eq!(table["sources"]["one"]["deliver_to"].as_array().unwrap().len(), 0);
        assert_ne!(site.ingest, site.admin);
    }
}
