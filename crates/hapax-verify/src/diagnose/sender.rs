//! A delivery without the expected signature may come from another provider.

use super::Mistake;
use crate::catalogue::{self, Provider};
use crate::request::Request;
use crate::verifier::Verifier;

/// Many providers use this header, so it identifies none of them.
const SHARED_HEADER: &str = "authorization";

pub(super) fn find(verifier: &Verifier, request: &Request<'_>) -> Option<Mistake> {
    let mine = verifier.recipe().proof.headers();
    let sent_by = |provider: &&Provider| {
        let headers = provider.proof.headers();
        let shared = headers
            .iter()
            .any(|name| mine.contains(name) || name == SHARED_HEADER);
        !shared && headers.iter().any(|name| request.headers.get(name).is_some())
    };
    // If several providers share a header, none is named: a wrong name would mislead.
    let mut found = catalogue::all().iter().filter(sent_by);
    match (found.next(), found.next()) {
        (Some(provider), None) => Some(Mistake::OtherProvider {
            provider: provider.name.clone(),
        }),
        (Some(_), Some(_)) | (None, _) => None,
    }
}
