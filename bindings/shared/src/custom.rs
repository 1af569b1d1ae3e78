//! A source without a preset, as JSON in the shape of `[sources.NAME]` in `hapax.toml`.

use hapax_verify::{CustomScheme, FieldList, IdRule, IdentityRule, Proof};
use serde::Deserialize;

use crate::Error;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Custom {
    verify: CustomScheme,
    event_id: IdRule,
    #[serde(default)]
    event_type: Option<FieldList>,
}

/// The proof and the identity that the JSON describes.
pub(crate) fn read(json: &str) -> Result<(Proof, IdentityRule), Error> {
    let custom: Custom = serde_json::from_str(json).map_err(|error| {
        Error::setup(format!(
            "the scheme is not usable: {error}; it has `verify`, `event_id` and optionally `event_type`, as \
             [sources.NAME] of hapax.toml does"
        ))
    })?;
    let proof = Proof::try_from(custom.verify).map_err(|error| Error::setup(error.to_string()))?;
    Ok((proof, IdentityRule::new(custom.event_id, custom.event_type)))
}
