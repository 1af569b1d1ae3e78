//! A delivery without the expected signature may be another provider's.

use super::Mistake;
use crate::catalogue;
use crate::{Proof, Request, Verifier};

pub(super) fn find(verifier: &Verifier, request: &Request<'_>) -> Option<Mistake> {
    let mine = signature_headers(&verifier.recipe().proof);
    let providers = catalogue::all().iter();
    let found = providers.filter(|provider| {
        let headers = signature_headers(&provider.proof);
        let present = |name: &&str| request.headers.get(name).is_some();
        !headers.iter().any(|name| mine.contains(name)) && headers.iter().any(present)
    });
    // Where several share a header, none of them is named: a wrong name misleads.
    let names: Vec<&str> = found.map(|provider| provider.name.as_str()).take(2).collect();
    match names.as_slice() {
        [name] => Some(Mistake::OtherProvider {
            provider: (*name).to_owned(),
        }),
        _ => None,
    }
}

fn signature_headers(proof: &Proof) -> Vec<&str> {
    match proof {
        Proof::Any(proofs) => proofs.iter().flat_map(signature_headers).collect(),
        other => other
            .scheme()
            .map(|scheme| scheme.headers.iter().map(String::as_str).collect())
            .unwrap_or_default(),
    }
}
