//! Mistakes with secrets: another source's, an older one, one with surrounding whitespace, or one decoded differently.

use super::{Holder, Mistake, Suspect};
use crate::encoding::Encoding;
use crate::limits::DIAGNOSIS_SECRETS_MAX;
use crate::proof::Proof;
use crate::recipe::Recipe;
use crate::request::Request;
use crate::scheme::{KeyEncoding, Scheme};
use crate::verifier::Verifier;

/// A prefix of some providers' secrets that other providers do not use.
const FOREIGN_PREFIX: &str = "whsec_";

/// Characters that a secret may pick up when it is copied.
const SURROUNDINGS: &[char] = &[' ', '\t', '\r', '\n', '"', '\''];

pub(super) fn find(verifier: &Verifier, request: &Request<'_>, suspects: &[Suspect<'_>]) -> Option<Mistake> {
    of_another(verifier, request, suspects)
        .or_else(|| surrounded(verifier, request))
        .or_else(|| signature_encoding(verifier, request))
        .or_else(|| reading(verifier, request))
}

fn of_another(verifier: &Verifier, request: &Request<'_>, suspects: &[Suspect<'_>]) -> Option<Mistake> {
    let secrets = suspects.iter().flat_map(|suspect| {
        let secrets = suspect.verifier.secrets().iter();
        secrets.map(|secret| (suspect.holder, secret.as_str()))
    });
    let (holder, _) = secrets
        .take(DIAGNOSIS_SECRETS_MAX)
        .find(|(_, secret)| fits(verifier, verifier.recipe(), secret, request))?;
    Some(match holder {
        Holder::Source(name) => Mistake::SecretOfSource {
            source: name.to_owned(),
        },
        Holder::Older => Mistake::OlderSecret,
    })
}

fn surrounded(verifier: &Verifier, request: &Request<'_>) -> Option<Mistake> {
    let recipe = verifier.recipe();
    for (index, secret) in verifier.secrets().iter().enumerate() {
        let position = index + 1;
        let trimmed = secret.trim_matches(SURROUNDINGS);
        if trimmed != secret && fits(verifier, recipe, trimmed, request) {
            return Some(Mistake::SecretSurrounded { position });
        }
        let broken = ["\n", "\r\n"].map(|end| format!("{secret}{end}"));
        if broken
            .iter()
            .any(|secret| fits(verifier, recipe, secret, request))
        {
            return Some(Mistake::SecretOfSenderSurrounded { position });
        }
    }
    None
}

fn signature_encoding(verifier: &Verifier, request: &Request<'_>) -> Option<Mistake> {
    [Encoding::Hex, Encoding::Base64].into_iter().find_map(|found| {
        let recipe = varied(verifier.recipe(), |scheme| {
            for kind in &mut scheme.signatures {
                kind.encoding = found;
            }
        })?;
        let variant = Verifier::new(&recipe, verifier.secrets(), verifier.options()).ok()?;
        variant
            .proves(request)
            .then_some(Mistake::SignatureEncoding { found })
    })
}

fn reading(verifier: &Verifier, request: &Request<'_>) -> Option<Mistake> {
    [KeyEncoding::Utf8, KeyEncoding::Base64, KeyEncoding::Hex]
        .into_iter()
        .find_map(|sender| {
            let recipe = varied(verifier.recipe(), |scheme| read_keys(scheme, sender))?;
            let position = read_so(verifier, &recipe, request)?;
            Some(Mistake::SecretReading { position, sender })
        })
}

/// Decodes the whole text of every secret in one way.
fn read_keys(scheme: &mut Scheme, encoding: KeyEncoding) {
    for kind in &mut scheme.signatures {
        kind.key.encoding = encoding;
        kind.key.prefix = None;
        kind.key.prefix_optional = true;
        kind.key.private_prefix = None;
    }
}

fn read_so(verifier: &Verifier, recipe: &Recipe, request: &Request<'_>) -> Option<usize> {
    let secrets = verifier.secrets().iter();
    let index = secrets.clone().position(|secret| {
        let bare = secret.strip_prefix(FOREIGN_PREFIX).unwrap_or(secret);
        let texts = [secret.as_str(), bare];
        texts.iter().any(|text| fits(verifier, recipe, text, request))
    })?;
    Some(index + 1)
}

fn fits(verifier: &Verifier, recipe: &Recipe, secret: &str, request: &Request<'_>) -> bool {
    // A text that is not a valid secret here cannot have signed the delivery.
    Verifier::new(recipe, &[secret], verifier.options()).is_ok_and(|variant| variant.proves(request))
}

/// The recipe with its schemes changed; `None` if the proof is not a scheme.
fn varied(recipe: &Recipe, change: impl Fn(&mut Scheme)) -> Option<Recipe> {
    let mut recipe = recipe.clone();
    change_schemes(&mut recipe.proof, &change).then_some(recipe)
}

fn change_schemes(proof: &mut Proof, change: &impl Fn(&mut Scheme)) -> bool {
    match proof {
        Proof::Signature(scheme) => {
            change(scheme);
            true
        }
        Proof::Any(proofs) => {
            // Every one must be changed, so this must not stop at the first.
            let changed = proofs.iter_mut().map(|proof| change_schemes(proof, change));
            changed.filter(|changed| *changed).count() > 0
        }
        Proof::Token(_) | Proof::Jwt(_) | Proof::Coded(_) => false,
    }
}
