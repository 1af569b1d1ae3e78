//! `hapax dev`: the service without configuration, on this machine only.

pub(super) mod folder;
mod greeting;

use std::path::PathBuf;

use hapax_engine::Notice;
use tokio::sync::broadcast::error::RecvError;

use crate::exit::CliError;
use crate::globals::Globals;
use folder::Folder;
use hapax_config::{self as config, Config, Environment};
use hapax_server::signals::{Signal, Signals};
use hapax_server::{Server, StartError, Tuning};
use hapax_telemetry::logging;
use hapax_terminal::output;

/// Try Hapax without any configuration, on this machine only.
///
/// Accepts webhooks from every known provider at `/in/<provider>`, each with a generated secret, on an embedded store.
/// Prints the URLs, the secrets, and a command to copy that sends a first event. To use your own secret, set it in the
/// environment or in .env, such as SECRET_OF_STRIPE=whsec_…
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax dev
  hapax dev --forward http://127.0.0.1:3000/webhooks")]
pub struct Args {
    /// Deliver every event to this URL; without it, events are only accepted and shown
    #[arg(long, value_name = "URL")]
    pub forward: Option<String>,

    /// Port for webhooks
    #[arg(long, value_name = "PORT", default_value_t = 8080)]
    pub port: u16,

    /// Port for the admin API
    #[arg(long, value_name = "PORT", default_value_t = 8081)]
    pub admin_port: u16,

    /// URL where providers reach this machine, such as that of a tunnel [default: `http://127.0.0.1:PORT`]
    #[arg(long, value_name = "URL")]
    pub public_url: Option<String>,

    /// Folder for the store and the secrets
    #[arg(long, value_name = "FOLDER", default_value = folder::FOLDER_DEFAULT)]
    pub dir: PathBuf,
}

pub async fn run(args: Args, globals: &Globals) -> Result<(), CliError> {
    logging::start(&Environment::of_process(), logging::DEV_FILTER)?;
    let environment = Environment::beside(&globals.config)?;
    if let Some(dotenv) = environment.dotenv() {
        output::note(format_args!(
            "environment variables are also read from {}",
            dotenv.display()
        ));
    }
    let folder = Folder::open(&args.dir, &environment)?;
    let config = configuration(&args, &folder)?;
    let mut signals = Signals::new()?;
    let tuning = Tuning::of(&config);
    let server = Server::start(config, tuning).await.map_err(explained)?;
    let mut tail = server.engine().tail();
    greeting::print(&server, &folder, args.forward.as_deref());
    loop {
        tokio::select! {
            notice = tail.recv() => match notice {
                Ok(notice) => print(&notice, globals)?,
                Err(RecvError::Lagged(missed)) => output::note(format_args!("{missed} lines were omitted")),
                Err(RecvError::Closed) => break,
            },
            signal = signals.next() => match signal {
                Signal::Stop(_) => break,
                Signal::Reload => {}
            },
        }
    }
    output::note("stopping; accepted events are kept");
    tokio::select! {
        () = server.stop() => {}
        () = signals.second_stop() => {}
    }
    Ok(())
}

/// The configuration that a user would have written.
fn configuration(args: &Args, folder: &Folder) -> Result<Config, CliError> {
    let text = folder.configuration(
        args.port,
        args.admin_port,
        args.public_url.as_deref(),
        args.forward.as_deref(),
    );
    let variables = folder.variables();
    let pairs = variables
        .iter()
        .map(|(name, secret)| (name.as_str(), secret.as_str()));
    config::parse(
        &text,
        &folder.path().join("(generated)"),
        &Environment::with(pairs),
        &[],
    )
    .map_err(|error| {
        let error = anyhow::Error::new(error);
        match (&args.forward, &args.public_url) {
            (None, None) => CliError::configuration(error),
            _ => CliError::usage(format!("{error:#}; check `--forward` and `--public-url`")),
        }
    })
}

fn explained(error: StartError) -> CliError {
    let is_port = matches!(error, StartError::Bind(_));
    let error = anyhow::Error::new(error);
    if is_port {
        return CliError::failed(format!(
            "{error:#}; choose others with `--port` and `--admin-port`"
        ));
    }
    error.into()
}

fn print(notice: &Notice, globals: &Globals) -> Result<(), CliError> {
    if globals.json {
        return Ok(output::json_line(notice)?);
    }
    let event_type = notice.event_type.as_deref().unwrap_or("-");
    let line = format!(
        "{} {:9} {:18} {:32} {}",
        notice.received_at,
        notice.status,
        notice.source.as_str(),
        event_type,
        notice.event_id
    );
    Ok(output::line(line)?)
}
