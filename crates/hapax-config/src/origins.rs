//! Where each value of the configuration comes from.

use std::collections::BTreeMap;

use super::problem::ConfigLocation;
use super::secret_origin::SecretOrigin;
use super::setting::HIDDEN;

/// The origin of every value, by path (`sources.stripe.secrets.0`).
#[derive(Clone, Debug, Default)]
pub struct Origins {
    pub(super) places: BTreeMap<String, ConfigLocation>,
    pub(super) secrets: BTreeMap<String, SecretOrigin>,
}

impl Origins {
    /// Where the value at `path` was written; [`ConfigLocation::Nowhere`] for a default.
    pub fn place(&self, path: &str) -> ConfigLocation {
        self.places.get(path).cloned().unwrap_or(ConfigLocation::Nowhere)
    }

    /// Every environment variable that holds a secret.
    pub(super) fn secret_variables(&self) -> impl Iterator<Item = &str> {
        self.secrets.values().filter_map(|origin| {
            let SecretOrigin::Variable(name) = origin else {
                return None;
            };
            Some(name.as_str())
        })
    }

    /// The origin of the secret at `path`.
    pub fn secret(&self, path: &str) -> Option<&SecretOrigin> {
        self.secrets.get(path)
    }

    /// Stands for the secret at `path`: `*** (env:NAME)`.
    pub(super) fn hidden(&self, path: &str) -> toml::Value {
        let origin = self.secret(path);
        origin.map_or_else(|| HIDDEN.into(), |origin| format!("{HIDDEN} ({origin})").into())
    }

    /// The origin of every secret, by path.
    pub(super) fn secrets(&self) -> impl Iterator<Item = (&String, &SecretOrigin)> {
        self.secrets.iter()
    }
}
