//! `hapax events export`: an event as a script or a test.

use serde_json::json;

use super::{ExportArgs, ExportFormat};
use crate::exit::CliError;
use crate::globals::Globals;
use hapax_client::Client;
use hapax_terminal::output;

pub(super) async fn run(client: &Client, args: &ExportArgs, globals: &Globals) -> Result<(), CliError> {
    let kind = name(args.kind);
    let path = format!("events/{}/export?as={kind}", args.id);
    let text = client.get_bytes(&path).await?;
    if globals.json {
        let text = String::from_utf8_lossy(&text);
        return Ok(output::json(&json!({ "id": args.id, "as": kind, "text": text }))?);
    }
    Ok(output::raw(&text)?)
}

const fn name(kind: ExportFormat) -> &'static str {
    match kind {
        ExportFormat::Curl => "curl",
        ExportFormat::Rust => "rust",
        ExportFormat::Python => "python",
        ExportFormat::Typescript => "typescript",
        ExportFormat::Pytest => "pytest",
        ExportFormat::Vitest => "vitest",
    }
}
