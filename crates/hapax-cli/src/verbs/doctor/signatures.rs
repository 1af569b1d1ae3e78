//! Each source signs a sample with each of its secrets and verifies it, so that a malformed secret shows here and not
//! at the first delivery.

use hapax_core::{Clock as _, SystemClock};
use hapax_terminal::output::counted;
use hapax_verify::sign::ProviderSigner;
use hapax_verify::{Algorithm, Request, Verification, sample};

use super::check::Check;
use hapax_config::{Config, Source};

const SAMPLE_ID: &str = "hapax_doctor_1";

pub(super) fn check(config: &Config) -> Vec<Check> {
    let url_of = |name: &str| config.public_url_of(name);
    config
        .sources
        .iter()
        .map(|(name, source)| check_source(name, &url_of(name), source))
        .collect()
}

fn check_source(name: &str, url: &str, source: &Source) -> Check {
    let check_name = format!("source {name}");
    let count = source.secrets.len();
    if count == 0 {
        let detail = "it has no secret: its keys are fetched, or sent by the provider";
        return Check::ok(check_name, detail.to_owned());
    }
    let mut public_keys: u64 = 0;
    for (index, secret) in source.secrets.iter().enumerate() {
        match try_secret(url, source, secret.expose(), index) {
            Ok(Tried::Verified) => {}
            Ok(Tried::PublicKey) => public_keys += 1,
            Err(problem) => {
                return Check::fail(
                    check_name,
                    format!("secret {} of {count}: {problem}", index + 1),
                    "copy the complete signing secret from the provider's settings again",
                );
            }
        }
    }
    let keys = counted(public_keys, "well-formed public key", "well-formed public keys");
    let secrets = counted(count as u64 - public_keys, "secret", "secrets");
    let detail = if public_keys == 0 {
        format!("{secrets} signed and verified a sample")
    } else if public_keys == count as u64 {
        format!("{keys}; only the provider can sign, so none was tested")
    } else {
        format!("{secrets} signed and verified a sample; {keys}, for which only the provider can sign")
    };
    Check::ok(check_name, detail)
}

/// What a secret turned out to be.
enum Tried {
    /// It signs, and the signature verifies.
    Verified,
    /// Only the provider has the private half.
    PublicKey,
}

fn try_secret(url: &str, source: &Source, secret: &str, index: usize) -> Result<Tried, String> {
    let is_ed25519 = source.recipe.proof.scheme().is_some_and(|scheme| {
        let mut kinds = scheme.signatures.iter();
        kinds.all(|kind| kind.algorithm == Algorithm::Ed25519)
    });
    // A public key of this kind has the same shape as a private one.
    if is_ed25519 {
        return Ok(Tried::PublicKey);
    }
    // The configuration was read, so the secret verifies: if it cannot sign, it is a public key.
    match ProviderSigner::of_proof(&source.recipe.proof, secret, &source.options) {
        Ok(signer) => round_trip(url, source, &signer, index).map(|()| Tried::Verified),
        Err(_) => Ok(Tried::PublicKey),
    }
}

fn round_trip(url: &str, source: &Source, signer: &ProviderSigner, index: usize) -> Result<(), String> {
    let now = SystemClock::default().now().as_seconds();
    let delivery = match source.provider {
        Some(provider) => sample::of_provider(provider, SAMPLE_ID),
        None => sample::of_rule(&source.recipe.identity, SAMPLE_ID),
    };
    let mut delivery = delivery.delivery(now);
    url.clone_into(&mut delivery.url);
    let delivery = signer.sign(delivery);
    let request = Request::new(&delivery.headers, &delivery.body, now).url(&delivery.url);
    match source.verifier.verify(&request) {
        // An equal secret earlier in the list matches first.
        Ok(Verification::Events(events))
            if events.first().and_then(|event| event.secret_index) <= Some(index) =>
        {
            Ok(())
        }
        Ok(Verification::Events(_)) => Err("another secret matched".to_owned()),
        Ok(
            Verification::Handshake(_)
            | Verification::Registration(_)
            | Verification::Confirmation(_)
            | Verification::NeedsKey(_),
        ) => Err("the sample was not recognised as an event".to_owned()),
        Err(rejection) => Err(rejection.to_string()),
    }
}
