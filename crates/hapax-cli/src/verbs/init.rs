//! `hapax init`: a commented `hapax.toml` to start from, or a small app.

mod template;

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};

use anyhow::Context as _;
use hapax_verify::catalogue::{self, Provider};
use hapax_verify::{Handshake, OptionKind, Verifier};

use crate::exit::CliError;
use crate::globals::Globals;
use hapax_config::{self as config, keys};
use hapax_terminal::output;
use template::Template;

/// Write a commented hapax.toml, or a small app that handles webhooks exactly once.
///
/// Without `--template`, writes hapax.toml with a source for each provider that you name; `--config` sets its path. With
/// `--template`, writes an app with its schema, a test that delivers an event twice, hapax.toml and compose.yaml. Existing
/// files are not overwritten.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax init
  hapax init stripe github
  hapax init stripe --config /etc/hapax.toml --force
  hapax init --template fastapi
  hapax init --template express shop")]
pub struct Args {
    /// Providers to add a source for; `hapax providers` lists them. With `--template`, the folder to write to instead
    /// [default: the template's name]
    #[arg(value_name = "PROVIDER|FOLDER")]
    pub names: Vec<String>,

    /// Write an app for this framework
    #[arg(long, value_enum, value_name = "NAME")]
    pub template: Option<Template>,

    /// Overwrite existing files
    #[arg(long)]
    pub force: bool,
}

pub fn run(args: &Args, globals: &Globals) -> Result<(), CliError> {
    if let Some(template) = args.template {
        return match args.names.as_slice() {
            [] => template::run(template, None, args.force),
            [folder] => template::run(template, Some(folder), args.force),
            [_, more, ..] => Err(CliError::usage(format!(
                "`--template` takes one folder, so `{more}` is one too many; the source of the app is Stripe, and \
                 hapax.toml in its folder has room for others"
            ))),
        };
    }
    let providers = args
        .names
        .iter()
        .map(|name| known(name))
        .collect::<Result<Vec<_>, _>>()?;
    let path = &globals.config;
    let mut options = OpenOptions::new();
    options.write(true);
    if args.force {
        options.create(true).truncate(true);
    } else {
        // Creates the file only if it is absent, in one step: a file that appears between a check and the write is not
        // lost.
        options.create_new(true);
    }
    let mut file = options.open(path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => CliError::failed(format!(
            "{} already exists; `--force` overwrites it, and `--config FILE` writes another file",
            path.display()
        )),
        _ => anyhow::Error::new(error)
            .context(format!("{} cannot be written", path.display()))
            .into(),
    })?;
    file.write_all(text(&providers).as_bytes())
        .with_context(|| format!("{} cannot be written", path.display()))?;
    output::note(format_args!("{} written.", path.display()));
    for provider in providers.iter().filter(|provider| needs_secret(provider)) {
        output::note(format_args!(
            "Set {} to the signing secret that {} shows.",
            variable(provider),
            provider.title
        ));
    }
    output::note("Then run `hapax config check` and `hapax serve`.");
    Ok(())
}

fn known(name: &str) -> Result<&'static Provider, CliError> {
    catalogue::get(name).ok_or_else(|| {
        let names = catalogue::all().iter().map(|provider| provider.name.as_str());
        let meant = config::nearest(name, names)
            .map_or_else(String::new, |meant| format!("; did you mean `{meant}`?"));
        CliError::not_found(format!(
            "`{name}` is not in the catalogue; `hapax providers` lists the known ones{meant}"
        ))
    })
}

/// The environment variable from which the source reads its secret.
fn variable(provider: &Provider) -> String {
    format!(
        "{}_WEBHOOK_SECRET",
        provider.name.to_ascii_uppercase().replace('-', "_")
    )
}

/// Whether the provider needs a configured secret: it cannot be verified with fetched keys or a secret from a
/// handshake.
fn needs_secret(provider: &Provider) -> bool {
    let options = provider.sample_options();
    Verifier::new(&provider.recipe(), &[] as &[&str], &options).is_err()
}

/// The options that the preset requires, with an example for each.
fn options(provider: &Provider) -> String {
    let mut text = String::new();
    for spec in provider.options.iter().filter(|spec| spec.required) {
        let example = toml::Value::from(spec.sample.as_deref().unwrap_or("..."));
        let value = match spec.kind {
            OptionKind::Text | OptionKind::Secret => example,
            OptionKind::List => vec![example].into(),
            OptionKind::Table => toml::Table::new().into(),
        };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "options.{} = {value}    # {}", spec.name, spec.about);
    }
    text
}

/// `[server]` and `[store]`, with the settings that these providers need.
fn head(providers: &[&Provider]) -> String {
    let mut head = with_defaults(&with_defaults(HEAD, &keys::SERVER), &keys::STORE);
    if providers.iter().any(|provider| provider.proof.covers_url()) {
        head = head.replace("# public_url", "public_url");
    }
    let hands_over = |provider: &&Provider| provider.handshakes.contains(&Handshake::AsanaSecret);
    if providers.iter().any(hands_over) {
        head = head.replace("# encryption_keys", "encryption_keys");
    }
    head
}

fn text(providers: &[&Provider]) -> String {
    let mut text = head(providers);
    if providers.is_empty() {
        text.push_str(SOURCE_EXAMPLE);
    }
    let mut written: Vec<&str> = Vec::new();
    for provider in providers {
        if written.contains(&provider.name.as_str()) {
            continue;
        }
        written.push(&provider.name);
        let (name, title, variable) = (&provider.name, &provider.title, variable(provider));
        let unused = if needs_secret(provider) { "" } else { "# " };
        let options = options(provider);
        let windows = with_defaults(WINDOWS, &keys::SOURCE);
        let _ = write!(
            text,
            "\n# {title}. Give it the URL of this machine, ending in /in/{name}.\n\
             [sources.{name}]\n\
             provider = \"{name}\"\n\
             {unused}secrets = [\"env:{variable}\"]    # add a second one to rotate; any may match\n\
             {options}deliver_to = [\"app\"]\n\
             {windows}"
        );
    }
    text.push_str(&with_defaults(TAIL, &keys::DESTINATION));
    text.push_str(SQL_EXAMPLE);
    text.push_str(&with_defaults(ALERTS_EXAMPLE, &keys::ALERTS));
    text
}

/// A template in which `{key}` stands for the key and its declared default.
fn with_defaults(template: &str, table: &keys::Table) -> String {
    let lines = table.keys.iter();
    let lines = lines.filter_map(|key| Some((key.facts().name, key.default_line()?)));
    lines.fold(template.to_owned(), |text, (name, line)| {
        text.replace(&format!("{{{name}}}"), &line)
    })
}

const HEAD: &str = r#"# Hapax: every webhook takes effect exactly once.
# `hapax config check` checks this file, `hapax config show` shows the effective values.
# Secrets are "env:NAME", "file:PATH", "exec:COMMAND" or the secret itself.

[server]
{listen}              # webhooks: POST /in/<source>
{admin_listen}        # admin API, /metrics, /healthz, /readyz
# admin_token = "env:HAPAX_ADMIN_TOKEN"  # required if admin_listen is not a loopback address
# {body_limit}
# public_url = "https://hooks.example.com"  # for providers that sign the URL

[store]
{url}
# encryption_keys = ["env:HAPAX_ENCRYPTION_KEY"]  # encrypts payloads and secrets; `openssl rand -hex 32` generates one
"#;

const SOURCE_EXAMPLE: &str = r#"
# Sources. `hapax providers` lists the known providers.
# [sources.stripe]
# provider = "stripe"
# secrets = ["env:STRIPE_WEBHOOK_SECRET"]
# deliver_to = ["app"]

# A provider that is not in the catalogue: how it signs, and where its ids are. `scheme` is a signature (hmac-sha256,
# hmac-sha512, hmac-sha1, ed25519, ecdsa-p256), a signed token (jwt), or a shared secret (token, basic).
# [sources.inhouse]
# verify = { scheme = "hmac-sha256", header = "x-signature", signed = "{body}" }
# event_id = "header:x-event-id"
# event_type = "body:/type"
# secrets = ["env:INHOUSE_WEBHOOK_SECRET"]
# deliver_to = ["app"]
"#;

const WINDOWS: &str = "\
# {ledger_window}          # how long an event id is remembered
# {payload_retention}      # how long its body is kept
";

const TAIL: &str = r#"
# Destinations. 2xx means success; anything else is retried.
[destinations.app]
kind = "http"
url = "http://127.0.0.1:3000/webhooks"
# secret = "env:APP_SIGNING_SECRET"    # signs the outgoing request, Standard Webhooks
# events = ["invoice.*"]               # default: all
# {timeout}
# {concurrency}
# {max_attempts}
# order_by = "body:/data/object/id"    # one at a time per value, in order of acceptance
"#;

const SQL_EXAMPLE: &str = r#"
# Exactly once without code: your statements, and the record that they ran, in one transaction of your database.
# [destinations.ledger]
# kind = "sql"
# url = "env:APP_DATABASE_URL"         # postgres://user@host/database or sqlite:app.db
# params = { order = "body:/data/object/id", event = "event_id" }
# statements = ["update orders set status = 'paid', event = :event where id = :order and status = 'pending'"]
"#;

const ALERTS_EXAMPLE: &str = r#"
# Alert receivers. Without one, alerts are shown by `hapax alerts`, the dashboard and the log.
# [alerts]
# {dead_letters}                     # fires above; `false` switches a rule off
# [alerts.receivers.chat]
# kind = "slack"                       # or "webhook" (Standard Webhooks), or "command"
# url = "env:ALERTS_URL"
"#;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::exit::Exit;
    use hapax_config::Environment;

    #[test]
    fn what_is_written_passes_the_check() {
        let all: Vec<&Provider> = catalogue::all().iter().collect();
        let secrets: Vec<(String, String)> = all
            .iter()
            .map(|provider| {
                (
                    variable(provider),
                    hapax_verify::sign::generate_secret(provider, &[7; 32]).verifying,
                )
            })
            .collect();
        let encryption_key = ("HAPAX_ENCRYPTION_KEY", "0123456789abcdef0123456789abcdef");
        let environment = Environment::with(
            secrets
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .chain([encryption_key]),
        );
        for providers in [&all[..], &[]] {
            let config = config::parse(&text(providers), Path::new("hapax.toml"), &environment, &[]).unwrap();
            assert_eq!(config.sources.len(), providers.len());
            assert!(config.destinations.contains_key("app"));
        }
    }

    #[test]
    fn the_commented_examples_are_right_too() {
        let uncommented = |example: &str| {
            let lines = example
                .lines()
                .filter(|line| line.starts_with("# [") || line.contains(" = "));
            let lines: Vec<&str> = lines.map(|line| line.trim_start_matches("# ")).collect();
            lines
                .join("\n")
                .replace("deliver_to = [\"app\"]", "deliver_to = [\"app\", \"ledger\"]")
        };
        let environment = Environment::with([
            ("STRIPE_WEBHOOK_SECRET", "whsec_1"),
            ("INHOUSE_WEBHOOK_SECRET", "secret"),
            ("APP_DATABASE_URL", "postgres://app@db/app"),
            ("ALERTS_URL", "https://chat.example.com/services/1"),
        ]);
        let text = format!(
            "{}{}{}{}\n{}",
            head(&[]),
            uncommented(SOURCE_EXAMPLE),
            with_defaults(TAIL, &keys::DESTINATION),
            uncommented(SQL_EXAMPLE),
            uncommented(&with_defaults(ALERTS_EXAMPLE, &keys::ALERTS))
        );
        let config = config::parse(&text, Path::new("hapax.toml"), &environment, &[]).unwrap();
        assert_eq!(config.sources.len(), 2);
        assert_eq!(config.warning_lines(), Vec::<String>::new());
    }

    #[test]
    fn every_default_is_filled_in() {
        let text = text(&[catalogue::get("stripe").unwrap()]);
        assert!(!text.replace("{ ", "").contains('{'), "{text}");
        for line in [
            "\nlisten = \"127.0.0.1:8080\"              # webhooks",
            "\nurl = \"sqlite:hapax.db\"\n",
            "\n# ledger_window = \"30d\"          # how long",
            "\n# max_attempts = 12\n",
            "\n# dead_letters = 0                     # fires above",
        ] {
            assert!(text.contains(line), "{line} in\n{text}");
        }
    }

    #[test]
    fn a_file_that_is_there_is_left_alone_unless_forced() {
        use clap::Parser as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hapax.toml");
        std::fs::write(&path, "mine").unwrap();
        let globals = super::super::Cli::parse_from([
            std::ffi::OsStr::new("hapax"),
            "-c".as_ref(),
            path.as_os_str(),
            "init".as_ref(),
        ])
        .globals;
        let mut args = Args {
            names: vec!["stripe".to_owned()],
            template: None,
            force: false,
        };
        let error = run(&args, &globals).unwrap_err();
        assert_eq!(error.exit, Exit::Failed);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
        args.force = true;
        run(&args, &globals).unwrap();
        assert!(
            std::fs::read_to_string(&path)
                .unwrap()
                .contains("[sources.stripe]")
        );
    }

    #[test]
    fn an_unknown_provider_is_refused_with_the_nearest() {
        let error = known("strip").unwrap_err();
        assert_eq!(error.exit, Exit::NotFound);
        assert!(
            error
                .error
                .unwrap()
                .to_string()
                .ends_with("did you mean `stripe`?")
        );
    }
}
