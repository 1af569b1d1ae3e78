//! The shop's process: started, killed, started again.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

/// A running shop, killed when this value is dropped.
pub(crate) struct Shop {
    child: Child,
    pub(crate) address: String,
}

impl Shop {
    /// Starts it, and returns once it is listening.
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
            .unwrap_or_else(|| panic!("unexpected output: {line:?}"));
        Self {
            address: address.to_owned(),
            child,
        }
    }
}

impl Drop for Shop {
    /// `SIGKILL`: no chance to shut down gracefully.
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}
