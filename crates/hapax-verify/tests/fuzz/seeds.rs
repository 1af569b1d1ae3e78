//! The vectors of the repository, each with its verifier.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use hapax_verify::catalogue::{self, Provider};
use hapax_verify::vectors::{File, Vector};
use hapax_verify::{OptionKind, OptionSpec, Request, Verifier};

/// A request that can be torn apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Draft {
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
    pub(crate) received_at: i64,
}

/// A vector and the verifier that it is for.
#[derive(Debug)]
pub(crate) struct Seed {
    pub(crate) draft: Draft,
    pub(crate) verifier: Verifier,
    pub(crate) secrets: Vec<String>,
    /// Whether nobody can change the body under a genuine signature.
    pub(crate) signs_body: bool,
    keys: BTreeMap<String, Vec<u8>>,
}

static SEEDS: LazyLock<Vec<Seed>> = LazyLock::new(load);

pub(crate) fn seeds() -> &'static [Seed] {
    &SEEDS
}

impl Draft {
    pub(crate) fn request<'a>(&'a self, seed: &'a Seed) -> Request<'a> {
        Request::new(&self.headers, &self.body, self.received_at)
            .method(&self.method)
            .url(&self.url)
            .keys(&seed.keys)
    }
}

fn load() -> Vec<Seed> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    let files = paths.iter().map(|path| {
        let text = std::fs::read_to_string(path).unwrap();
        serde_json::from_str::<File>(&text).unwrap()
    });
    files.flat_map(|file| of_file(&file)).collect()
}

fn of_file(file: &File) -> Vec<Seed> {
    let provider = |vector: &Vector| {
        let name = file.provider.as_deref().or(vector.provider.as_deref()).unwrap();
        catalogue::get(&name.replace('_', "-")).unwrap()
    };
    let vectors = file.vectors.iter();
    vectors
        .map(|vector| of_vector(provider(vector), vector))
        .collect()
}

fn of_vector(provider: &Provider, vector: &Vector) -> Seed {
    let headers = vector.headers.iter();
    Seed {
        draft: Draft {
            method: vector.method.clone(),
            url: vector.url.clone(),
            headers: headers
                .map(|(name, value)| (name.clone(), value.clone().into_bytes()))
                .collect(),
            body: vector.body(),
            received_at: vector.now,
        },
        verifier: vector.verifier(provider).unwrap(),
        secrets: secrets(provider, vector),
        signs_body: provider
            .proof
            .scheme()
            .is_some_and(|scheme| scheme.signed.covers_body()),
        keys: vector.keys(),
    }
}

/// The secrets and keys of a vector, those in options (a key of Box, a table of Pusher's) among them.
fn secrets(provider: &Provider, vector: &Vector) -> Vec<String> {
    let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    let is_secret = |option: &&OptionSpec| matches!(option.kind, OptionKind::Secret | OptionKind::Table);
    let options = provider.options.iter().filter(is_secret);
    let values = options.filter_map(|option| vector.config.get(&option.name));
    let in_options = values.flat_map(|value| match value.as_object() {
        Some(table) => table.values().filter_map(text).collect(),
        None => Vec::from_iter(text(value)),
    });
    let listed = vector.secrets.iter().chain(vector.public_keys.iter().flatten());
    listed.cloned().chain(in_options).collect()
}
