//! Signs outgoing requests.

use hapax_verify::catalogue;
use hapax_verify::sign::Signer;

use crate::destination::SetupError;

/// The scheme that signs outgoing requests.
const SIGNING_PROVIDER: &str = "standard-webhooks";

pub fn signer(destination: &str, secret: &str) -> Result<Signer, SetupError> {
    let provider = catalogue::get(SIGNING_PROVIDER).ok_or(SetupError::NoScheme(SIGNING_PROVIDER))?;
    let scheme = provider
        .proof
        .scheme()
        .ok_or(SetupError::NoScheme(SIGNING_PROVIDER))?;
    Signer::new(scheme, secret).map_err(|source| SetupError::Secret {
        destination: destination.to_owned(),
        source,
    })
}
