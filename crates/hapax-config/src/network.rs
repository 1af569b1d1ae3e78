//! A range of addresses, `10.1.0.0/16` or `fd00::/8`, or a single address.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use super::section::Section;
use super::setting::Key;

/// A range of addresses. An IPv4 range also contains the same addresses written as IPv6 (`::ffff:10.1.0.1`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

/// Why a string is not a range.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    #[error("this is not an address range; write it like \"10.1.0.0/16\" or \"fd00::/8\"")]
    NotANetwork,
    /// The address has bits set after the prefix.
    #[error("the range begins at {0}; write \"{0}\"")]
    BitsBehindPrefix(Network),
}

impl Network {
    pub fn contains(&self, ip: IpAddr) -> bool {
        first_of(ip.to_canonical(), self.prefix) == Some(self.address)
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (address, prefix) = text.split_once('/').unwrap_or((text, ""));
        let address: IpAddr = address.parse().map_err(|_| NetworkError::NotANetwork)?;
        let bits = bits(address);
        let prefix = match prefix {
            "" if !text.contains('/') => bits,
            // `+8` would parse as a number.
            digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                digits.parse().map_err(|_| NetworkError::NotANetwork)?
            }
            _ => return Err(NetworkError::NotANetwork),
        };
        let first = first_of(address, prefix).ok_or(NetworkError::NotANetwork)?;
        // Addresses are compared in canonical form, so an IPv4 range written as IPv6 would match nothing.
        if first.to_canonical() != first {
            return Err(NetworkError::NotANetwork);
        }
        let network = Self {
            address: first,
            prefix,
        };
        if first != address {
            return Err(NetworkError::BitsBehindPrefix(network));
        }
        Ok(network)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.prefix == bits(self.address) {
            return self.address.fmt(formatter);
        }
        write!(formatter, "{}/{}", self.address, self.prefix)
    }
}

/// Reads a list of at most `max` ranges.
pub(super) fn read(
    section: &mut Section<'_, '_, '_>,
    key: &'static Key<Vec<String>>,
    max: usize,
) -> Vec<Network> {
    let texts = section.texts(key).unwrap_or_default();
    if texts.len() > max {
        section.problem(key, format_args!("at most {max} address ranges"));
    }
    let mut networks = Vec::new();
    for (path, text) in texts {
        match text.parse::<Network>() {
            Ok(network) => networks.push(network),
            Err(error) => section.report.problem(&path, error),
        }
    }
    networks
}

const fn bits(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

/// The first address of the range that contains this one; `None` if the prefix is longer than the address.
fn first_of(address: IpAddr, prefix: u8) -> Option<IpAddr> {
    let behind = u32::from(bits(address).checked_sub(prefix)?);
    Some(match address {
        IpAddr::V4(v4) => {
            let kept = u32::MAX.checked_shl(behind).unwrap_or(0);
            IpAddr::V4((v4.to_bits() & kept).into())
        }
        IpAddr::V6(v6) => {
            let kept = u128::MAX.checked_shl(behind).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & kept))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_holds_what_begins_like_it_in_either_notation() {
        for (range, inside, outside) in [
            ("10.1.0.0/16", "10.1.255.255", "10.2.0.0"),
            ("10.1.0.0/16", "::ffff:10.1.0.1", "::ffff:10.2.0.1"),
            ("127.0.0.1", "127.0.0.1", "127.0.0.2"),
            ("0.0.0.0/0", "203.0.113.1", "fd00::1"),
            ("fd00::/8", "fdff::1", "fc00::1"),
            ("::1", "::1", "::2"),
            ("::/0", "2606:2800::1", "10.0.0.1"),
        ] {
            let network: Network = range.parse().unwrap();
            assert!(network.contains(inside.parse().unwrap()), "{inside} in {range}");
            assert!(
                !network.contains(outside.parse().unwrap()),
                "{outside} not in {range}"
            );
            assert_eq!(network.to_string(), range);
        }
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for text in [
            "",
            "10.1.0.0/",
            "10.1.0.0/33",
            "10.0.0.0/+8",
            "::/129",
            "10.1/16",
            "example.com",
            "/8",
            "::ffff:10.0.0.0/104",
        ] {
            assert_eq!(text.parse::<Network>(), Err(NetworkError::NotANetwork), "{text}");
        }
        let error = "10.1.2.3/16".parse::<Network>().unwrap_err().to_string();
        assert!(error.contains("10.1.0.0/16"), "{error}");
    }
}
