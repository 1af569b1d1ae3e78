//! The vectors of the repository, each with its verifier.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use hapax_verify::catalogue::{self, Provider};
use hapax_verify::sign::{Delivery, ProviderSigner, generate_secret};
use hapax_verify::vectors::{File, Vector};
use hapax_verify::{OptionKind, OptionSpec, Request, Verifier};

/// A request that can be mutated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Draft {
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
    pub(crate) received_at: i64,
}

/// A vector and its verifier.
#[derive(Debug)]
pub(crate) struct Seed {
    pub(crate) draft: Draft,
    pub(crate) verifier: Verifier,
    pub(crate) secrets: Vec<String>,
    /// Whether a valid signature guarantees that the body is unchanged.
    pub(crate) signs_body: bool,
    /// The keys that were fetched for it.
    pub(crate) keys: BTreeMap<String, Vec<u8>>,
    provider: &'static Provider,
}

/// A provider that signs anything, and its verifier: only with these do mutations reach the parsers behind a proof.
pub(crate) struct Willing {
    signer: ProviderSigner,
    pub(crate) verifier: Verifier,
}

static WILLING: LazyLock<BTreeMap<&'static str, Willing>> = LazyLock::new(|| {
    let each = |provider: &'static Provider| (provider.name.as_str(), Willing::new(provider));
    catalogue::all().iter().map(each).collect()
});

static SEEDS: LazyLock<Vec<Seed>> = LazyLock::new(load);

pub(crate) fn seeds() -> &'static [Seed] {
    &SEEDS
}

impl Willing {
    fn new(provider: &Provider) -> Self {
        let options = provider.sample_options();
        let pair = generate_secret(provider, &[5; 32]);
        Willing {
            signer: ProviderSigner::new(provider, &pair.signing, &options).unwrap(),
            verifier: Verifier::new(&provider.recipe(), &[&pair.verifying], &options).unwrap(),
        }
    }

    /// Signs the draft again.
    pub(crate) fn sign(&self, draft: &Draft) -> Delivery {
        let header = |(name, value): &(String, Vec<u8>)| {
            let value = std::str::from_utf8(value).ok()?;
            Some((name.to_ascii_lowercase(), value.to_owned()))
        };
        self.signer.sign(Delivery {
            id: "id-1".to_owned(),
            timestamp: draft.received_at,
            method: draft.method.clone(),
            url: draft.url.clone(),
            headers: draft.headers.iter().filter_map(header).collect(),
            body: draft.body.clone(),
        })
    }
}

impl Seed {
    /// The signer and verifier of this vector's provider.
    pub(crate) fn willing(&self) -> &'static Willing {
        &WILLING[self.provider.name.as_str()]
    }
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

fn of_vector(provider: &'static Provider, vector: &Vector) -> Seed {
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
        provider,
    }
}

/// The secrets and keys of a vector, including those in options (a key of Box, a table of Pusher's).
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
