//! A reader's terminal: an empty folder, `hapax` in the `PATH`, and a handler that is already there.

use std::fs::File;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use hapax_testkit::{Outcome, Sink, binary, eventually, free_address, two_free_addresses, within};
use tempfile::TempDir;
use tokio::process::{Child, Command};

const LIMIT: Duration = Duration::from_secs(80);

pub(super) struct Terminal {
    folder: TempDir,
    /// What listens where the pages have port 3000.
    pub(super) handler: Sink,
    /// What is on the pages, and what the reader types instead.
    filled: Vec<(String, String)>,
    /// The lines that every command starts with.
    exports: String,
    service: Option<Child>,
}

impl Terminal {
    pub(super) async fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("bin")).unwrap();
        std::os::unix::fs::symlink(binary(), folder.path().join("bin/hapax")).unwrap();
        let ([listen, admin], handler) = (two_free_addresses(), free_address());
        let mut terminal = Self {
            folder,
            handler: Sink::at(handler).await,
            filled: Vec::new(),
            exports: format!("export PATH=\"$PWD/bin:$PATH\" HAPAX_ADMIN_URL=http://{admin}\n"),
            service: None,
        };
        terminal.fill("cargo run --release --", "hapax");
        let ports = format!("--port {} --admin-port {}", listen.port(), admin.port());
        terminal.fill("hapax dev", &format!("hapax dev {ports}"));
        terminal.fill("127.0.0.1:8080", &listen.to_string());
        terminal.fill("127.0.0.1:8081", &admin.to_string());
        terminal.fill("127.0.0.1:3000", &handler.to_string());
        terminal
    }

    /// Sets what the reader types instead of something on a page.
    pub(super) fn fill(&mut self, blank: &str, text: &str) {
        self.filled.push((blank.to_owned(), text.to_owned()));
    }

    fn typed(&self, text: &str) -> String {
        let filled = self.filled.iter();
        filled.fold(text.to_owned(), |text, (blank, typed)| text.replace(blank, typed))
    }

    /// Runs a command that has to succeed. What it exports is there for all that follow.
    pub(super) async fn run(&mut self, command: &str) -> Outcome {
        let command = self.typed(command);
        let output = within(&command, LIMIT, self.shell(&command).output())
            .await
            .unwrap();
        let outcome = Outcome {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        };
        assert_eq!(outcome.code, Some(0), "{command}: {outcome:#?}");
        if command.starts_with("export ") {
            self.exports.push_str(&command);
            self.exports.push('\n');
        }
        outcome
    }

    /// Runs a command that goes on, until it has printed this.
    pub(super) async fn start(&mut self, command: &str, printed: &str) {
        let command = self.typed(command);
        let log = File::create(self.log_path()).unwrap();
        let mut shell = self.shell(&format!("exec {command}"));
        shell.stdout(log.try_clone().unwrap()).stderr(log);
        let mut service = shell.spawn().unwrap();
        eventually(&command, LIMIT, async || {
            let ended = service.try_wait().unwrap();
            assert_eq!(ended, None, "{command}: {}", self.log());
            self.log().contains(printed).then_some(())
        })
        .await;
        self.service = Some(service);
    }

    /// Presses Ctrl-C.
    pub(super) async fn stop(&mut self) {
        let mut service = self.service.take().unwrap();
        self.run(&format!("kill -INT {}", service.id().unwrap())).await;
        let status = within("Ctrl-C", LIMIT, service.wait()).await.unwrap();
        assert_eq!(status.code(), Some(0), "{}", self.log());
    }

    /// What the service has printed.
    pub(super) fn log(&self) -> String {
        std::fs::read_to_string(self.log_path()).unwrap()
    }

    /// What the service has printed after these words.
    pub(super) fn printed(&self, words: &str) -> String {
        let log = self.log();
        let rest = log.lines().find_map(|line| line.strip_prefix(words));
        rest.unwrap_or_else(|| panic!("{log}")).trim().to_owned()
    }

    /// The commands that the service has printed for the reader to copy.
    pub(super) fn printed_commands(&self) -> Vec<String> {
        let log = self.log();
        let lines = log.lines().filter_map(|line| line.strip_prefix("  "));
        let commands = lines.filter(|line| line.starts_with('/'));
        commands.map(str::to_owned).collect()
    }

    /// A file that a command has written.
    pub(super) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name)).unwrap()
    }

    /// Replaces the default addresses in a file, as [`Self::run`] does in commands.
    pub(super) fn use_free_addresses(&self, name: &str) {
        std::fs::write(self.folder.path().join(name), self.typed(&self.read(name))).unwrap();
    }

    fn shell(&self, command: &str) -> Command {
        let mut shell = Command::new("bash");
        shell
            .args(["-c", &format!("{}{command}", self.exports)])
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .kill_on_drop(true);
        shell
    }

    fn log_path(&self) -> PathBuf {
        self.folder.path().join("service.log")
    }
}
