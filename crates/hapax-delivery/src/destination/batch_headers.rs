//! What of a request's headers is not for a destination: what proves a request by itself, which earlier versions have
//! stored, and what holds for a whole batch and is not true of one event that was taken out of it.

use hapax_verify::{Recipe, Split};

/// Hashes and signatures over the whole body that any sender may add (RFC 9530, RFC 9421 and what came before them).
/// Middleware that checks them would refuse every event of a batch.
const OVER_BODY: [&str; 6] = [
    "content-digest",
    "content-md5",
    "digest",
    "repr-digest",
    "signature",
    "signature-input",
];

/// The headers of a source that hold for a batch and for none of its events, and those that are for no one but us.
#[derive(Clone, Debug, Default)]
pub struct BatchHeaders {
    /// The sender's signature, in lower case.
    signature: Vec<String>,
    /// What proves a request by itself, in lower case.
    credentials: Vec<String>,
    /// The content type of one event, where a batch has another.
    pub event_content_type: Option<String>,
}

impl BatchHeaders {
    /// Those of senders that are judged by this recipe.
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

    /// Whether this header alone is enough to send anything in its sender's name.
    pub fn is_credential(&self, name: &str) -> bool {
        self.credentials.iter().any(|header| header == name)
    }

    /// Whether a header proves something of the batch, and nothing of one event.
    pub fn proves_whole(&self, name: &str) -> bool {
        OVER_BODY.contains(&name) || self.signature.iter().any(|header| header == name)
    }
}
