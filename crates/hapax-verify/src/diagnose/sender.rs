//! A delivery without the expected signature may be another provider's.

use super::Mistake;
use crate::catalogue::{self, Provider};
use crate::{Request, Verifier};

/// Many senders use it, so it tells none of them.
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
    // Where several share a header, none of them is named: a wrong name misleads.
    let mut found = catalogue::all().iter().filter(sent_by);
    match (found.next(), found.next()) {
        (Some(provider), None) => Some(Mistake::OtherProvider {
            provider: provider.name.clone(),
        }),
        (Some(_), Some(_)) | (None, _) => None,
    }
}
