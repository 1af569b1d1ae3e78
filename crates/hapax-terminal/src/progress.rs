//! Progress of long-running work: a bar on a terminal, an occasional plain line elsewhere. Always on stderr.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use parking_lot::Mutex;

const LINE_EVERY: Duration = Duration::from_secs(5);

pub struct Progress {
    bar: ProgressBar,
    lines: Option<Mutex<Lines>>,
    total: u64,
}

struct Lines {
    last: Instant,
    message: String,
}

impl Progress {
    /// A bar of this length, or plain lines if stderr is not a terminal.
    pub fn new(total: u64) -> Self {
        if std::io::stderr().is_terminal() {
            let bar = ProgressBar::new(total);
            let style = ProgressStyle::with_template("{bar:32} {human_pos}/{human_len} {elapsed} {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.enable_steady_tick(Duration::from_millis(200));
            return Self {
                bar,
                lines: None,
                total,
            };
        }
        let lines = Lines {
            last: Instant::now(),
            message: String::new(),
        };
        Self {
            bar: ProgressBar::hidden(),
            lines: Some(Mutex::new(lines)),
            total,
        }
    }

    /// A bar of this length if stderr is a terminal, and nothing otherwise.
    pub fn quiet_unless_terminal(total: u64) -> Self {
        let mut progress = Self::new(total);
        progress.lines = None;
        progress
    }

    /// Shows the current step.
    pub fn say(&self, message: impl Into<String>) {
        let message = message.into();
        if let Some(lines) = &self.lines {
            crate::output::note(&message);
            let mut lines = lines.lock();
            lines.message.clone_from(&message);
            lines.last = Instant::now();
        }
        self.bar.set_message(message);
    }

    pub fn set(&self, position: u64) {
        self.bar.set_position(position);
        let Some(lines) = &self.lines else { return };
        let mut lines = lines.lock();
        if lines.last.elapsed() >= LINE_EVERY {
            lines.last = Instant::now();
            crate::output::note(format_args!("{}: {position} of {}", lines.message, self.total));
        }
    }

    /// Advances by one.
    pub fn step(&self) {
        self.bar.inc(1);
    }

    /// Removes the bar, so that the results stand alone.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}
