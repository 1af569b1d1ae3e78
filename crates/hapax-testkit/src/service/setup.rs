//! A service before it runs: its directory, its addresses, its configuration.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::Service;
use crate::{Outcome, Sink, command, secret_of, two_free_addresses};

/// Everything that `hapax serve` needs, in its own directory.
pub struct Setup {
    pub directory: TempDir,
    pub listen: SocketAddr,
    pub admin: SocketAddr,
    /// Lines of `[server]` other than the addresses.
    server: String,
    store: PathBuf,
    /// The store's URL if it is not a file.
    database: Option<String>,
    /// The keys that the store is encrypted with.
    keys: Vec<String>,
    tables: String,
    /// A complete configuration, instead of the fields above.
    whole: Option<String>,
    /// Shell commands that run before the shell execs the binary.
    before: Option<String>,
}

impl Default for Setup {
    fn default() -> Self {
        Self::new()
    }
}

impl Setup {
    pub fn new() -> Self {
        let [listen, admin] = two_free_addresses();
        Self {
            directory: tempfile::tempdir().unwrap(),
            listen,
            admin,
            server: String::new(),
            store: PathBuf::from("hapax.db"),
            database: None,
            keys: Vec::new(),
            tables: String::new(),
            whole: None,
            before: None,
        }
    }

    /// Uses this configuration unchanged, except that the default addresses are replaced by free ones.
    pub fn whole(mut self, text: &str) -> Self {
        let text = text
            .replace("127.0.0.1:8080", &self.listen.to_string())
            .replace("127.0.0.1:8081", &self.admin.to_string());
        self.whole = Some(text);
        self
    }

    /// The most common service: Stripe's events go to one sink, named `app`.
    pub fn stripe_to(sink: &Sink) -> Self {
        Self::stripe_to_with(sink, "")
    }

    /// The same with more lines for the destination.
    pub fn stripe_to_with(sink: &Sink, destination: &str) -> Self {
        Self::new()
            .source("stripe", "stripe", "deliver_to = [\"app\"]")
            .http("app", &sink.url(), destination)
    }

    /// Adds a line to `[server]`.
    pub fn server(mut self, line: &str) -> Self {
        writeln!(self.server, "{line}").unwrap();
        self
    }

    /// Keeps the store at another path.
    pub fn store(mut self, path: &Path) -> Self {
        path.clone_into(&mut self.store);
        self
    }

    /// Keeps the store in a database.
    pub fn database(mut self, url: &str) -> Self {
        self.database = Some(url.to_owned());
        self
    }

    /// Encrypts the store: the first key writes.
    pub fn encrypted(mut self, keys: &[&str]) -> Self {
        self.keys = keys.iter().map(ToString::to_string).collect();
        self
    }

    /// A source of a known provider, with the secret that [`crate::Sender`] uses.
    pub fn source(self, name: &str, provider: &str, lines: &str) -> Self {
        let secret = secret_of(provider);
        self.table(&format!(
            "[sources.{name}]\nprovider = \"{provider}\"\nsecrets = [\"{secret}\"]\n{lines}\n"
        ))
    }

    /// An HTTP destination. Its first retry follows soon unless `lines` say otherwise.
    pub fn http(self, name: &str, url: &str, lines: &str) -> Self {
        let backoff = if lines.contains("backoff") {
            ""
        } else {
            "backoff = { first = \"50ms\", cap = \"200ms\" }\n"
        };
        self.table(&format!(
            "[destinations.{name}]\nkind = \"http\"\nurl = \"{url}\"\n{backoff}{lines}\n"
        ))
    }

    /// Any other part of the configuration.
    pub fn table(mut self, text: &str) -> Self {
        writeln!(self.tables, "{text}").unwrap();
        self
    }

    /// The configuration of all sources and destinations.
    pub fn tables(&self) -> String {
        self.tables.clone()
    }

    /// With other sources and destinations.
    pub fn with_tables(mut self, text: &str) -> Self {
        text.clone_into(&mut self.tables);
        self
    }

    /// Runs this in the shell that becomes the service: usually limits.
    pub fn before(mut self, shell: &str) -> Self {
        self.before = Some(shell.to_owned());
        self
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The path of the store's file.
    pub fn store_path(&self) -> PathBuf {
        self.path().join(&self.store)
    }

    /// Writes `hapax.toml`.
    pub fn write(&self) {
        std::fs::write(self.path().join("hapax.toml"), self.text()).unwrap();
    }

    fn text(&self) -> String {
        if let Some(text) = &self.whole {
            return text.clone();
        }
        let file = || format!("sqlite:{}", self.store.display());
        // An older release does not know the key, and starts only without it.
        let keys = if self.keys.is_empty() {
            String::new()
        } else {
            format!("encryption_keys = {:?}\n", self.keys)
        };
        format!(
            "[server]\nlisten = \"{}\"\nadmin_listen = \"{}\"\n{}\n[store]\nurl = \"{}\"\n{keys}\n{}",
            self.listen,
            self.admin,
            self.server,
            self.database.clone().unwrap_or_else(file),
            self.tables
        )
    }

    /// The service as a command.
    pub fn command(&self) -> tokio::process::Command {
        let Some(before) = &self.before else {
            let mut command = command::hapax(self.path());
            command.arg("serve");
            return command;
        };
        let mut shell = tokio::process::Command::new("sh");
        let script = format!("{before}\nexec \"$0\" serve");
        shell
            .args(["-c", &script])
            .arg(command::binary())
            .current_dir(self.path())
            .kill_on_drop(true);
        shell
    }

    /// Starts the service and waits until it is ready.
    pub async fn start(self) -> Service {
        let mut service = self.spawn();
        service.until_ready().await;
        service
    }

    /// Starts it without waiting.
    pub fn spawn(self) -> Service {
        self.write();
        Service::spawn(self)
    }

    /// Starts a service that has to refuse to start; returns its outcome.
    pub async fn refusal(&self) -> Outcome {
        self.write();
        command::finish(&mut self.command()).await
    }
}
