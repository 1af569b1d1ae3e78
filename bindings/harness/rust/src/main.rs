//! The worker in Rust: applies the deliveries that the harness names, one after another. See `bindings/harness/README.md`
//! for what is said on standard input and output.

mod line;
mod postgres;
mod sqlite;

use std::env;

use hapax::Inbox;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let is_cheating = arguments.iter().any(|argument| argument == "--cheat");
    let database = arguments.last().map(String::as_str).unwrap_or_default();
    let inbox = Inbox::new("harness")?.wait(line::WAIT);
    match database.strip_prefix("sqlite:") {
        Some(file) => sqlite::serve(file, &inbox, is_cheating),
        None => postgres::serve(database, &inbox, is_cheating),
    }
}
