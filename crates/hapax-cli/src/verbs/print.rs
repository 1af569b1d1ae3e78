//! `hapax print`: the production kit, made by the binary itself or as it is in `deploy/`.

use clap::ValueEnum;

use crate::exit::CliError;
use hapax_admin::openapi;
use hapax_terminal::output;

/// Print a document that belongs to this version.
///
/// Needs no configuration and no running service. docs/guides/deploy.md says what to do with each.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax print systemd > /etc/systemd/system/hapax.service
  hapax print alerts > rules.yml
  hapax print openapi > openapi.json")]
pub struct Args {
    /// Which document
    #[arg(value_enum, value_name = "DOCUMENT")]
    pub document: Document,
}

/// A document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Document {
    /// A hardened unit for systemd
    Systemd,
    /// A dashboard for Grafana
    Grafana,
    /// Alert rules for Prometheus
    Alerts,
    /// The whole stack for Docker Compose
    Compose,
    /// Manifests for Kubernetes
    Kubernetes,
    /// The description of the admin API, OpenAPI 3.1
    Openapi,
}

/// Runs the verb.
pub fn run(args: &Args) -> Result<(), CliError> {
    let text = match args.document {
        Document::Systemd => include_str!("../../../../deploy/systemd/hapax.service"),
        Document::Grafana => include_str!("../../../../deploy/grafana/hapax.json"),
        Document::Alerts => include_str!("../../../../deploy/prometheus/rules.yml"),
        Document::Compose => include_str!("../../../../deploy/compose/compose.yml"),
        Document::Kubernetes => include_str!("../../../../deploy/kubernetes/hapax.yaml"),
        Document::Openapi => return Ok(output::json(&openapi::document())?),
    };
    Ok(output::line(text.trim_end())?)
}
