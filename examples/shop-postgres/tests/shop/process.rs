//! The shop's process: started, killed, started again.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

/// A running shop. It dies with this value.
pub(crate) struct Shop {
    child: Child,
    pub(crate) address: String,
}

impl Shop {
    /// Starts it, and returns once it listens.
    pub(crate) fn start(database_url: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_shop-postgres"))
            .env("DATABASE_URL", database_url)
            .env("STRIPE_WEBHOOK_SECRET", crate::sender::SECRET)
            .env("LISTEN", "127.0.0.1:0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let address = line
            .trim()
            .strip_prefix("listening on ")
            .unwrap_or_else(|| panic!("it said {line:?}"));
        Self {
            address: address.to_owned(),
            child,
        }
    }
}

impl Drop for Shop {
    /// `SIGKILL`: it gets no chance to end well.
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}
