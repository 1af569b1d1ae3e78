//! The verifier of a delivery: from a configured source, or from a provider and flags.

use std::sync::Arc;

use hapax_core::Secret;
use hapax_verify::catalogue::{self, Provider};
use hapax_verify::diagnose::{Holder, Suspect};
use hapax_verify::{Options, Recipe, Verifier};

use super::Args;
use crate::exit::CliError;
use crate::globals::Globals;
use crate::verbs::option;
use hapax_config::{self as config, Config, ConfigError, Environment, Source, nearest, resolve_secret};

/// A verifier, and those whose secrets may have been used by mistake.
pub(super) struct Subject {
    pub(super) verifier: Verifier,
    pub(super) url: String,
    older: Option<Verifier>,
    others: Vec<(String, Arc<Verifier>)>,
}

impl Subject {
    pub(super) fn find(target: &str, args: &Args, globals: &Globals) -> Result<Self, CliError> {
        let environment = Environment::beside(&globals.config)?;
        let config = match config::load(&globals.config, &environment, &[]) {
            Ok(config) => Some(config),
            // With a provider and a secret, no configuration is needed.
            Err(ConfigError::Missing(_)) => None,
            Err(error) => return Err(CliError::configuration(error)),
        };
        let source = config.as_ref().and_then(|config| source_named(config, target));
        let provider = source.map_or_else(|| catalogue::get(target), |source| source.provider);
        let (recipe, options) = recipe(source, provider).ok_or_else(|| unknown(target, config.as_ref()))?;
        let options = option::apply(options, &args.option, provider)?;
        let given = secrets(&args.secret, &environment)?;
        let secrets = match (given.is_empty(), source) {
            (true, Some(source)) => source.secrets.clone(),
            (true, None) | (false, _) => given,
        };
        let older = self::secrets(&args.older_secret, &environment)?;
        let url = args.url.clone().unwrap_or_else(|| {
            let config = config.as_ref();
            config
                .zip(source)
                .map(|(config, source)| config.public_url_of(source.name.as_str()))
                .unwrap_or_default()
        });
        Ok(Self {
            verifier: verifier(&recipe, &secrets, &options)
                .map_err(|error| CliError::usage(error.to_string()))?,
            url,
            // A string that is not a valid secret cannot be an older one either.
            older: verifier(&recipe, &older, &options)
                .ok()
                .filter(|_| !older.is_empty()),
            others: others(config.as_ref(), source),
        })
    }

    /// The verifiers whose secrets are worth trying.
    pub(super) fn suspects(&self) -> Vec<Suspect<'_>> {
        let older = self.older.iter().map(|verifier| Suspect {
            holder: Holder::Older,
            verifier,
        });
        let others = self.others.iter().map(|(name, verifier)| Suspect {
            holder: Holder::Source(name),
            verifier,
        });
        older.chain(others).collect()
    }
}

/// The source with this name, or else the first source of the provider with this name.
fn source_named<'a>(config: &'a Config, name: &str) -> Option<&'a Source> {
    let of_provider = |source: &&Source| source.provider.is_some_and(|provider| provider.name == name);
    config
        .sources
        .get(name)
        .or_else(|| config.sources.values().find(of_provider))
}

fn recipe(source: Option<&Source>, provider: Option<&Provider>) -> Option<(Recipe, Options)> {
    match (source, provider) {
        (Some(source), _) => Some((source.recipe.clone(), source.options.clone())),
        (None, Some(provider)) => Some((provider.recipe(), Options::default())),
        (None, None) => None,
    }
}

fn secrets(given: &[Secret], environment: &Environment) -> Result<Vec<Secret>, CliError> {
    let resolve = |secret: &Secret| Ok(resolve_secret(secret.expose(), environment)?.0);
    given.iter().map(resolve).collect()
}

fn verifier(
    recipe: &Recipe,
    secrets: &[Secret],
    options: &Options,
) -> Result<Verifier, hapax_verify::SetupError> {
    let exposed: Vec<&str> = secrets.iter().map(Secret::expose).collect();
    Verifier::new(recipe, &exposed, options)
}

fn others(config: Option<&Config>, source: Option<&Source>) -> Vec<(String, Arc<Verifier>)> {
    let sources = config.into_iter().flat_map(|config| config.sources.values());
    sources
        .filter(|other| source.is_none_or(|source| source.name != other.name))
        .map(|other| (other.name.to_string(), Arc::clone(&other.verifier)))
        .collect()
}

fn unknown(target: &str, config: Option<&Config>) -> CliError {
    let sources = config
        .into_iter()
        .flat_map(|config| config.sources.keys().map(String::as_str));
    let names = sources.chain(catalogue::all().iter().map(|provider| provider.name.as_str()));
    let hint = nearest(target, names).map(|name| format!("; did you mean `{name}`?"));
    CliError::not_found(format!(
        "`{target}` is neither a source of the configuration nor a provider{} (`hapax providers` lists them)",
        hint.unwrap_or_default(),
    ))
}
