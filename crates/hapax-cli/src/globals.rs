//! The flags that every verb accepts.

use std::path::PathBuf;

use hapax_core::Secret;
use hapax_terminal::output::Color;

/// Flags that every verb accepts.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Global options")]
pub struct Globals {
    /// Configuration file
    #[arg(
        short,
        long,
        global = true,
        env = "HAPAX_CONFIG",
        value_name = "FILE",
        default_value = "hapax.toml"
    )]
    pub config: PathBuf,

    /// URL of a running service's admin API [default: `server.admin_listen` in the configuration]
    #[arg(long, global = true, env = "HAPAX_ADMIN_URL", value_name = "URL")]
    pub admin: Option<String>,

    /// Token for the admin API [default: `server.admin_token` in the configuration]
    // Hidden, because help would print the value.
    #[arg(long, global = true, env = "HAPAX_ADMIN_TOKEN", hide_env_values = true, value_name = "TOKEN",
          value_parser = secret)]
    pub token: Option<Secret>,

    /// CA certificates to trust if the admin port uses TLS, as a PEM file [default: the configured certificate, or the
    /// public CAs]
    #[arg(long, global = true, env = "HAPAX_ADMIN_CA", value_name = "FILE")]
    pub cacert: Option<PathBuf>,

    /// Client certificate and key in one PEM file, for an admin port with `client_ca`
    #[arg(long, global = true, env = "HAPAX_ADMIN_CERT", value_name = "FILE")]
    pub client_cert: Option<PathBuf>,

    /// Print data as JSON
    #[arg(long, global = true)]
    pub json: bool,

    /// Colour the output; respects `NO_COLOR`
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t)]
    pub color: Color,
}

/// A clap parser of secrets.
#[expect(clippy::unnecessary_wraps, reason = "a clap value parser returns a Result")]
pub(crate) fn secret(text: &str) -> Result<Secret, std::convert::Infallible> {
    Ok(Secret::new(text))
}
