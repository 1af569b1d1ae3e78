//! `allow_targets`: the non-public addresses that an outbox's rows may name.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use super::address::normal;
use super::network::{Network, NetworkError};
use super::section::Section;
use super::setting::Key;

pub(super) static ALLOW_TARGETS: Key<Vec<String>> = Key::with_default(
    "allow_targets",
    "[]",
    "Which hosts that are not public the rows may name: ranges of addresses and names of hosts, such as `[\"10.1.0.0/16\", \"internal.example.com\"]`. Without it rows reach public addresses alone. Link-local and metadata addresses and the listeners of Hapax itself are refused in any case. A refused call is a dead letter at once.",
);

const LIST_MAX: usize = 256;
/// The longest host name (RFC 1035).
const HOST_BYTES_MAX: usize = 253;

/// Targets that rows may name although they are not on the public Internet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedTargets(Vec<AllowedTarget>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum AllowedTarget {
    /// Every host with an address in this range.
    Network(Network),
    /// This host, whatever it resolves to; in lower case.
    Host(String),
}

impl AllowedTargets {
    /// Whether a row may call this host at this address.
    pub fn allow(&self, host: &str, ip: IpAddr) -> bool {
        let host = host.strip_suffix('.').unwrap_or(host);
        self.0.iter().any(|allowed| match allowed {
            AllowedTarget::Network(network) => network.contains(normal(ip)),
            AllowedTarget::Host(name) => name.eq_ignore_ascii_case(host),
        })
    }

    /// Parses the entries of the list; the error describes the first mistake.
    pub fn parse(texts: &[&str]) -> Result<Self, String> {
        texts
            .iter()
            .map(|text| text.parse())
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// The entries as written in the file.
    fn as_written(&self) -> Vec<String> {
        self.0.iter().map(ToString::to_string).collect()
    }
}

impl FromStr for AllowedTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.parse() {
            Ok(network) => return Ok(Self::Network(network)),
            Err(error @ NetworkError::BitsBehindPrefix(_)) => return Err(error.to_string()),
            Err(NetworkError::NotANetwork) => {}
        }
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if text.is_empty() || text.len() > HOST_BYTES_MAX || !text.bytes().all(is_part) {
            return Err(
                "write an address range or a host name, such as \"10.1.0.0/16\" or \
                 \"internal.example.com\", without a port"
                    .to_owned(),
            );
        }
        Ok(Self::Host(text.to_ascii_lowercase()))
    }
}

impl fmt::Display for AllowedTarget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network(network) => network.fmt(formatter),
            Self::Host(name) => formatter.write_str(name),
        }
    }
}

pub(super) fn read(section: &mut Section<'_, '_, '_>) -> AllowedTargets {
    let texts = section.list(&ALLOW_TARGETS);
    if texts.len() > LIST_MAX {
        section.problem(&ALLOW_TARGETS, format_args!("at most {LIST_MAX} of them"));
    }
    let mut allowed = Vec::new();
    for (path, text) in texts {
        match text.parse() {
            Ok(target) => allowed.push(target),
            Err(why) => section.report.problem(&path, why),
        }
    }
    let allowed = AllowedTargets(allowed);
    section.show(&ALLOW_TARGETS, allowed.as_written());
    allowed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_allows_addresses_and_a_name_allows_itself_alone() {
        let targets = AllowedTargets::parse(&["10.1.0.0/16", "Internal.example.com"]).unwrap();
        let (inside, outside) = ("10.1.2.3".parse().unwrap(), "10.2.0.1".parse().unwrap());
        assert!(targets.allow("anything.example", inside));
        assert!(targets.allow("internal.EXAMPLE.com.", outside));
        for other in ["example.com", "x.internal.example.com", "10.2.0.1", ""] {
            assert!(!targets.allow(other, outside), "{other}");
        }
        assert_eq!(targets.as_written(), ["10.1.0.0/16", "internal.example.com"]);
    }

    #[test]
    fn a_port_a_url_and_a_pattern_are_no_hosts() {
        for text in ["", "a:80", "http://a", "*.example.com", "a/b", "10.1.2.3/16"] {
            assert!(text.parse::<AllowedTarget>().is_err(), "{text}");
        }
    }
}
