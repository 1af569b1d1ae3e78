//! Headers of a request that must not reach a destination: credentials, which earlier versions stored, and headers that
//! describe a whole batch and are not true of a single event taken from it.

use hapax_verify::{Recipe, Split};

/// Hashes and signatures over the whole body that any provider may add (RFC 9530, RFC 9421 and their predecessors).
/// Middleware that checks them would refuse every event of a batch.
const OVER_BODY: [&str; 6] = [
    "content-digest",
    "content-md5",
    "digest",
    "repr-digest",
    "signature",
    "signature-input",
];

/// The headers of a source that apply to a batch but to none of its events, and those that are meant for Hapax alone.
#[derive(Clone, Debug, Default)]
pub struct BatchHeaders {
    /// The provider's signature headers, in lower case.
    signature: Vec<String>,
    /// Headers that authenticate a request on their own, in lower case.
    credentials: Vec<String>,
    /// The content type of one event, if it differs from the batch's.
    pub event_content_type: Option<String>,
}

impl BatchHeaders {
    /// The headers of sources that this recipe verifies.
    pub fn of(recipe: &Recipe) -> Self {
        let event_content_type = match &recipe.identity.split {
            Some(Split::Array {
                event_content_type, ..
            }) => event_content_type.clone(),
            Some(Split::Nested(_)) | None => None,
        };
        Self {
            signature: recipe.proof.headers(),
            credentials: recipe.proof.credentials(),
            event_content_type,
        }
    }

    /// Whether this header alone is enough to send anything in the provider's name.
    pub fn is_credential(&self, name: &str) -> bool {
        self.credentials.iter().any(|header| header == name)
    }

    /// Whether a header proves something about the batch but nothing about a single event.
    pub fn proves_whole(&self, name: &str) -> bool {
        OVER_BODY.contains(&name) || self.signature.iter().any(|header| header == name)
    }
}
