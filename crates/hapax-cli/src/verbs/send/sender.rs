//! Who signs, with which secret, and the URL: from a configured source, or from a provider and flags.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use bytes::Bytes;
use hapax_core::Secret;
use hapax_verify::sample::{self, IdShape, Sample};
use hapax_verify::sign::generate_secret;
use hapax_verify::{Options, Recipe, catalogue};
use http::Uri;

use super::Args;
use crate::exit::CliError;
use crate::globals::Globals;
use crate::verbs::dev::folder::{FOLDER_DEFAULT, signing_secret};
use crate::verbs::option;
use hapax_config::{self as config, Config, ConfigError, Environment, Source, nearest, resolve_secret};
use hapax_outbound::tls::{Tls, Trust};
use hapax_terminal::output;

const LISTEN_DEFAULT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);

/// Everything that a delivery needs except its body.
pub(super) struct Sender {
    pub(super) recipe: Recipe,
    pub(super) options: Options,
    pub(super) secret: Secret,
    pub(super) url: Uri,
    pub(super) tls: Tls,
    /// The URL that is signed by providers that sign it.
    pub(super) signed_url: String,
    provider: Option<&'static catalogue::Provider>,
}

impl Sender {
    /// Whether the provider signs with the private half of a key pair, which cannot verify.
    pub(super) fn has_key_pair(&self) -> bool {
        self.provider.is_some_and(|provider| {
            let pair = generate_secret(provider, &[7; 32]);
            pair.signing != pair.verifying
        })
    }

    /// Finds the source or provider that the user named.
    pub(super) fn find(args: &Args, globals: &Globals) -> Result<Self, CliError> {
        let environment = Environment::beside(&globals.config)?;
        let config = match config::load(&globals.config, &environment, &[]) {
            Ok(config) => Some(config),
            // With a provider, a secret and a URL, no configuration is needed.
            Err(ConfigError::Missing(_)) => None,
            Err(error) => return Err(CliError::configuration(error)),
        };
        let source = config
            .as_ref()
            .and_then(|config| source_named(config, &args.target));
        let provider = source.map_or_else(|| catalogue::get(&args.target), |source| source.provider);
        let given = args
            .secret
            .as_ref()
            .map(|secret| resolve_secret(secret.expose(), &environment));
        let given = given.transpose()?.map(|(secret, _)| secret);
        let (recipe, options) = match (source, provider) {
            (Some(source), _) => (source.recipe.clone(), source.options.clone()),
            (None, Some(provider)) => (provider.recipe(), provider.sample_options()),
            (None, None) => return Err(unknown(config.as_ref(), args, globals)),
        };
        let options = option::apply(options, &args.option, provider)?;
        let name = source.map_or(args.target.as_str(), |source| source.name.as_str());
        let secret = given
            .or_else(|| source.and_then(|source| source.secrets.first().cloned()))
            .or_else(|| signing_secret(Path::new(FOLDER_DEFAULT), name, &environment).map(Secret::new));
        let secret = secret.ok_or_else(|| no_secret(args, globals))?;
        let listen = config
            .as_ref()
            .map_or(LISTEN_DEFAULT, |config| config.server.listen);
        let files = config.as_ref().and_then(|config| config.server.tls.as_ref());
        let scheme = if files.is_some() { "https" } else { "http" };
        let url = url(args.to.as_deref(), scheme, listen, name)?;
        let own = files
            .filter(|_| args.to.is_none())
            .map(|files| Trust::Exactly(files.cert.clone()));
        let named = globals.cacert.clone().map(Trust::Authorities);
        let tls = Tls {
            trust: named.or(own).unwrap_or_default(),
            identity: globals.client_cert.clone(),
        };
        let public = config
            .as_ref()
            .map(|config| config.public_url_of(name))
            .unwrap_or_default();
        let signed_url = if public.is_empty() {
            url.to_string()
        } else {
            public
        };
        Ok(Self {
            recipe,
            options,
            secret,
            url,
            tls,
            signed_url,
            provider,
        })
    }

    /// The body as this provider would send it: an event of a batch is wrapped in one, anything else is unchanged.
    pub(super) fn request_of(&self, headers: &[(String, String)], body: &Bytes) -> Bytes {
        match self
            .provider
            .map(|provider| sample::alone(provider, &headers, body))
        {
            Some(Cow::Owned(request)) => {
                output::note("the body is one event of a batch; it is sent as a batch of one");
                request.into()
            }
            Some(Cow::Borrowed(_)) | None => body.clone(),
        }
    }

    pub(super) fn id_shape(&self) -> IdShape {
        self.provider
            .map(|provider| provider.sample.id)
            .unwrap_or_default()
    }

    /// A body and headers as this provider makes them, with this id.
    pub(super) fn sample(&self, id: &str) -> Sample {
        match self.provider {
            Some(provider) => sample::of_provider(provider, id),
            None => sample::of_rule(&self.recipe.identity, id),
        }
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

fn unknown(config: Option<&Config>, args: &Args, globals: &Globals) -> CliError {
    let sources = config
        .into_iter()
        .flat_map(|config| config.sources.keys().map(String::as_str));
    let names: Vec<&str> = sources
        .chain(catalogue::all().iter().map(|provider| provider.name.as_str()))
        .collect();
    let hint = nearest(&args.target, names.iter().copied()).map(|name| format!("; did you mean `{name}`?"));
    CliError::not_found(format!(
        "`{}` is neither a source of {} nor a provider{}",
        args.target,
        globals.config.display(),
        hint.unwrap_or_else(|| format!("; known are: {}", names.join(", "))),
    ))
}

fn no_secret(args: &Args, globals: &Globals) -> CliError {
    CliError::usage(format!(
        "no secret to sign with: {} has no source for `{}`; set the secret with --secret",
        globals.config.display(),
        args.target,
    ))
}

fn url(to: Option<&str>, scheme: &str, listen: SocketAddr, source: &str) -> Result<Uri, CliError> {
    let text = to.map_or_else(
        || format!("{scheme}://{}/in/{source}", reachable(listen)),
        str::to_owned,
    );
    let wrong = |why: &str| {
        CliError::usage(format!(
            "--to is not a URL to send to: {why}; write http://HOST:PORT/in/NAME"
        ))
    };
    let uri: Uri = text
        .parse()
        .map_err(|error: http::uri::InvalidUri| wrong(&error.to_string()))?;
    match uri.scheme_str() {
        Some("http" | "https") if uri.host().is_some() => Ok(uri),
        _ => Err(wrong("it does not begin with http:// or https://")),
    }
}

/// A service that listens on all addresses is reached on the loopback address.
fn reachable(listen: SocketAddr) -> SocketAddr {
    if !listen.ip().is_unspecified() {
        return listen;
    }
    let ip = match listen.ip() {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
    };
    SocketAddr::new(ip, listen.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_url_is_the_sources_path_where_the_service_listens() {
        let listen = "0.0.0.0:9000".parse().unwrap();
        assert_eq!(
            url(None, "http", listen, "stripe").unwrap().to_string(),
            "http://127.0.0.1:9000/in/stripe"
        );
        let listen = "[::]:9000".parse().unwrap();
        assert_eq!(
            url(None, "https", listen, "stripe").unwrap().to_string(),
            "https://[::1]:9000/in/stripe"
        );
    }

    #[test]
    fn what_is_no_url_is_refused_with_the_way_to_write_one() {
        for text in ["127.0.0.1:8080/in/x", "ftp://host/in/x", "/in/x", ""] {
            let error = url(Some(text), "http", LISTEN_DEFAULT, "x").unwrap_err();
            assert!(
                error
                    .error
                    .unwrap()
                    .to_string()
                    .contains("http://HOST:PORT/in/NAME"),
                "{text}"
            );
        }
    }
}
