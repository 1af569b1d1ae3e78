//! `hapax serve`: the service, configured by `hapax.toml`.

use crate::exit::CliError;
use crate::globals::Globals;
use hapax_config::{Environment, Flag, Loader};
use hapax_server as serve;
use hapax_telemetry::logging;

/// Run the service.
///
/// Accepts webhooks at `POST /in/<source>` and serves the admin API on a second port. SIGTERM and Ctrl-C stop it
/// gracefully; SIGHUP reloads the configuration without dropping a request. Secrets that are rotated in their files, or
/// by their commands, take effect without a signal.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax serve
  hapax serve -c /etc/hapax.toml --listen 0.0.0.0:8080

Every key of [server] and [store] can also come from the environment, such as HAPAX_SERVER__LISTEN
and HAPAX_STORE__URL. Flags override the environment, and the environment overrides the file. A .env
file next to the configuration adds variables that the environment does not set.")]
pub struct Args {
    /// Accept webhooks on this address; overrides the configuration
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<String>,

    /// Serve the admin API on this address; overrides the configuration
    #[arg(long, value_name = "ADDRESS")]
    pub admin_listen: Option<String>,

    /// Use this store; overrides the configuration
    #[arg(long, value_name = "URL")]
    pub store: Option<String>,
}

impl Args {
    /// The keys that flags set, for [`hapax_config::load`].
    pub fn flags(&self) -> Vec<Flag> {
        let flag = |flag, path, value: &Option<String>| value.clone().map(|value| Flag { flag, path, value });
        [
            flag("--listen", "server.listen", &self.listen),
            flag("--admin-listen", "server.admin_listen", &self.admin_listen),
            flag("--store", "store.url", &self.store),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

pub async fn run(args: Args, globals: &Globals) -> Result<(), CliError> {
    logging::start(&Environment::of_process(), logging::SERVE_FILTER)?;
    let loader = Loader::new(&globals.config, args.flags());
    let config = loader.load()?;
    serve::run(config, loader).await?;
    Ok(())
}
