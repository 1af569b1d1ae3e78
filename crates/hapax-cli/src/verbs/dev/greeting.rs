//! The first output of `hapax dev`: the URLs, the secrets, and a command to copy.

use std::path::PathBuf;

use owo_colors::OwoColorize as _;

use super::folder::Folder;
use hapax_server::Server;
use hapax_terminal::output::note;

/// The provider in the command to copy.
const FIRST_PROVIDER: &str = "stripe";

/// Prints to stderr, because stdout is for the events that arrive later.
pub(super) fn print(server: &Server, folder: &Folder, forward: Option<&str>) {
    let (ingest, admin) = (server.ingest_address(), server.admin_address());
    let hapax = program();
    note(format_args!(
        "{} on this machine only; all data is in {}",
        "hapax dev".bold(),
        folder.path().display()
    ));
    note("");
    note(format_args!(
        "Each provider is at http://{ingest}/in/NAME, with its secret. Key pairs are in {}.",
        folder.path().display()
    ));
    note("");
    for (name, secret) in folder.secrets() {
        note(format_args!(
            "  {:18} {}",
            name.bold(),
            secret.unwrap_or("a key pair")
        ));
    }
    note("");
    note(format_args!("  {:18} http://{admin}", "dashboard".bold()));
    match forward {
        Some(url) => note(format_args!("  {:18} {url}", "delivers to".bold())),
        None => note(format_args!(
            "  {:18} nowhere; use `--forward URL` to deliver events",
            "delivers to".bold()
        )),
    }
    let first = folder
        .secrets()
        .find(|(name, _)| *name == FIRST_PROVIDER)
        .or_else(|| folder.secrets().next());
    if let Some((name, Some(secret))) = first {
        note("");
        note("Send a first event twice; the second time, it is a duplicate.");
        note("");
        note(format_args!(
            "  {hapax} send {name} --to http://{ingest}/in/{name} --secret {secret} --times 2"
        ));
        note("");
        note("View it:");
        note("");
        note(format_args!("  {hapax} events list --admin http://{admin}"));
        note(format_args!("  http://{admin}/events"));
    }
    note("");
    note("Events appear below as they arrive. Press Ctrl-C to stop.");
}

/// This program, as short as it can be written from here.
fn program() -> String {
    let path = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("hapax"));
    let here = std::env::current_dir().ok();
    let relative = here.and_then(|here| path.strip_prefix(here).ok().map(PathBuf::from));
    relative.unwrap_or(path).display().to_string()
}
