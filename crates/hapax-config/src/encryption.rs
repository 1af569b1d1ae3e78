//! `store.encryption_keys`: the keys that encrypt the store.

use hapax_core::Secret;
use hapax_seal::{KEY_BYTES_MIN, Keys, Writes};

use super::environment::Environment;
use super::secret::resolve_secret;
use super::section::Section;
use super::setting::Key;

pub(super) static ENCRYPTION_KEYS: Key<Vec<Secret>> = Key::optional(
    "encryption_keys",
    "The keys that encrypt payloads, headers, conflicts, response excerpts and secrets from handshakes in the store. The first key encrypts; all of them decrypt. At least 32 characters each. With `\"plain\"` as the first entry, new data is not encrypted yet. Required for a provider that sends its secret in a handshake (Asana). See `docs/guides/encryption.md`.",
);

/// The word that takes the place of the first key while keys are rolled out to replicas or withdrawn. No new data is
/// encrypted.
const PLAIN: &str = "plain";

/// The most keys: each of them is tried at startup.
const KEYS_MAX: usize = 8;

/// A store's keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encryption {
    writes: Writes,
    keys: Vec<Secret>,
}

impl Encryption {
    /// The keys, ready for use; there is always at least one.
    pub fn keys(&self) -> Option<Keys> {
        Keys::new(self.writes, &self.keys)
    }

    /// From references as given in a flag, such as `env:NEW,env:OLD`; `None` for `plain` alone.
    pub fn from_references(references: &[String], environment: &Environment) -> Result<Option<Self>, String> {
        let (writes, references) = split(references);
        let resolve = |reference: &String| {
            let (key, _) = resolve_secret(reference, environment).map_err(|error| error.to_string())?;
            check(&key).map(|()| key)
        };
        let keys = references.iter().map(resolve).collect::<Result<Vec<_>, _>>()?;
        Ok((!keys.is_empty()).then_some(Self { writes, keys }))
    }
}

/// Reads `encryption_keys` of `[store]`.
pub(super) fn read(section: &mut Section<'_, '_, '_>) -> Option<Encryption> {
    let references = section.references(&ENCRYPTION_KEYS).unwrap_or_default();
    if references.len() > KEYS_MAX {
        let message = format!(
            "there are {} keys; at most {KEYS_MAX} are allowed",
            references.len()
        );
        section.problem(&ENCRYPTION_KEYS, message);
    }
    let (paths, references): (Vec<String>, Vec<String>) = references.into_iter().unzip();
    let (writes, rest) = split(&references);
    if writes == Writes::Plain && rest.is_empty() {
        section.problem(
            &ENCRYPTION_KEYS,
            "\"plain\" must be followed by keys that are not used yet or no longer used; add them after it, or remove \
             the line",
        );
    }
    let paths = &paths[references.len() - rest.len()..];
    let mut keys: Vec<Secret> = Vec::new();
    for (path, reference) in paths.iter().zip(rest) {
        let Some(key) = section.report.secret(path, reference) else {
            continue;
        };
        if let Err(message) = check(&key) {
            section.report.problem(path, message);
        } else if keys.contains(&key) {
            section
                .report
                .problem(path, "this key is already in the list; list each key once");
        }
        keys.push(key);
    }
    let plain = (writes == Writes::Plain).then(|| toml::Value::from(PLAIN));
    let hidden = paths.iter().map(|path| section.report.origins.hidden(path));
    let shown: Vec<toml::Value> = plain.into_iter().chain(hidden).collect();
    if !shown.is_empty() {
        section.show(&ENCRYPTION_KEYS, shown);
    }
    (!keys.is_empty()).then_some(Encryption { writes, keys })
}

/// Whether new data is encrypted, and the references to the keys.
fn split(references: &[String]) -> (Writes, &[String]) {
    match references.split_first() {
        Some((first, rest)) if first == PLAIN => (Writes::Plain, rest),
        Some(_) | None => (Writes::Sealed, references),
    }
}

fn check(key: &Secret) -> Result<(), String> {
    if key.expose().len() >= KEY_BYTES_MIN {
        return Ok(());
    }
    Err(format!(
        "a key of fewer than {KEY_BYTES_MIN} characters can be guessed; `openssl rand -hex 32` generates one"
    ))
}
