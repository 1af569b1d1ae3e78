//! `allow_from`: the networks that a source's requests may come from.

use std::net::IpAddr;

use hapax_verify::catalogue::Provider;

use crate::network::{Network, NetworkError};
use crate::section::Section;
use crate::setting::Key;

pub(super) static ALLOW_FROM: Key<Vec<String>> = Key::depends(
    "allow_from",
    "everybody",
    "The networks from which requests are accepted, such as `[\"203.0.113.0/24\", \"provider\"]`; all others are answered 403 before their bodies are read. `provider` stands for the networks that the provider publishes (`hapax providers NAME` shows them). Behind a proxy, set `server.trusted_proxies`.",
)
.named("networks");

/// Stands for the networks that the provider publishes.
const PROVIDER: &str = "provider";
/// The most networks per source: every request's address is compared with each of them.
const NETWORKS_MAX: usize = 256;

/// The networks that may send requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowFrom {
    /// The entries as written in the file.
    pub written: Vec<String>,
    networks: Vec<Network>,
}

impl AllowFrom {
    /// Whether requests from this address are allowed.
    pub fn allows(&self, address: IpAddr) -> bool {
        self.networks.iter().any(|network| network.contains(address))
    }
}

/// `None` if requests may come from anywhere.
pub(super) fn read(section: &mut Section<'_, '_, '_>, provider: Option<&Provider>) -> Option<AllowFrom> {
    let texts = section.texts(&ALLOW_FROM)?;
    let mut networks = Vec::new();
    for (path, text) in &texts {
        match resolve(text, provider) {
            Ok(resolved) => networks.extend(resolved),
            Err(why) => section.report.problem(path, why),
        }
    }
    if texts.is_empty() {
        section.problem(
            &ALLOW_FROM,
            "the list is empty, which would refuse every request; remove it, or add a network",
        );
    }
    if networks.len() > NETWORKS_MAX {
        section.problem(&ALLOW_FROM, format_args!("at most {NETWORKS_MAX} networks"));
    }
    let written = texts.into_iter().map(|(_, text)| text).collect();
    Some(AllowFrom { written, networks })
}

fn resolve(text: &str, provider: Option<&Provider>) -> Result<Vec<Network>, String> {
    if text != PROVIDER {
        let network = text.parse().map_err(|error: NetworkError| error.to_string())?;
        return Ok(vec![network]);
    }
    let Some(provider) = provider else {
        return Err(
            "\"provider\" stands for the networks of a provider, and this source has none; list the networks"
                .to_owned(),
        );
    };
    let Some(addresses) = &provider.addresses else {
        return Err(format!(
            "{} publishes no stable list of networks (`hapax providers {}`); list the networks",
            provider.title, provider.name
        ));
    };
    let networks = addresses.networks.iter().map(|network| network.parse());
    networks
        .collect::<Result<_, NetworkError>>()
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use hapax_verify::catalogue;

    use super::*;

    #[test]
    fn every_network_of_the_catalogue_can_be_read() {
        let known: Vec<_> = catalogue::all()
            .iter()
            .filter(|provider| provider.addresses.is_some())
            .collect();
        assert!(known.iter().any(|provider| provider.name == "stripe"));
        for provider in known {
            let networks = resolve(PROVIDER, Some(provider));
            assert!(
                networks.is_ok_and(|networks| !networks.is_empty()),
                "{}",
                provider.name
            );
        }
    }
}
