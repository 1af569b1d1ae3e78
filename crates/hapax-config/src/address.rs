//! Addresses that deliveries may not go to.
//!
//! A configured destination may be on loopback or in a private range: that is where handlers live. The refused
//! addresses have no handler behind them, or give the machine's credentials to any caller. A URL that comes from data
//! may lead only to the public Internet.

mod public;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

pub use public::is_not_public;

/// Why nothing may be delivered to this address; `None` if it is allowed.
pub fn is_forbidden(ip: IpAddr) -> Option<&'static str> {
    match normal(ip) {
        IpAddr::V4(ip) => forbidden_v4(ip),
        IpAddr::V6(ip) => forbidden_v6(ip),
    }
}

/// The address that is really meant: for an IPv6 address that only represents an IPv4 one, the IPv4 address.
pub fn normal(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(_) => ip,
        IpAddr::V6(v6) => embedded_v4(v6).map_or(ip, IpAddr::V4),
    }
}

fn forbidden_v4(ip: Ipv4Addr) -> Option<&'static str> {
    match ip.octets() {
        [0, ..] => Some("it is not an address of any host (0.0.0.0/8)"),
        [169, 254, ..] => {
            Some("it is link-local, where cloud machines serve their credentials (169.254.0.0/16)")
        }
        [100, 100, 100, 200] => Some("it is the metadata service of a cloud (100.100.100.200)"),
        [168, 63, 129, 16] => Some("it is the platform service of a cloud (168.63.129.16)"),
        [192, 0, 0, 192] => Some("it is the metadata service of a cloud (192.0.0.192)"),
        [224..=239, ..] => Some("it is a multicast address (224.0.0.0/4)"),
        [240..=255, ..] => Some("it is reserved or broadcast (240.0.0.0/4)"),
        _ => None,
    }
}

fn forbidden_v6(ip: Ipv6Addr) -> Option<&'static str> {
    match ip.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => Some("it is not an address of any host (::)"),
        [0xfe80..=0xfebf, ..] => Some("it is link-local (fe80::/10)"),
        [0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x0254] => {
            Some("it is the metadata service of a cloud (fd00:ec2::254)")
        }
        [0xfd20, 0x00ce, 0, 0, 0, 0, 0, 0x0254] => {
            Some("it is the metadata service of a cloud (fd20:ce::254)")
        }
        [0xff00..=0xffff, ..] => Some("it is a multicast address (ff00::/8)"),
        _ => None,
    }
}

/// The IPv4 address inside an IPv6 one: mapped (`::ffff:a.b.c.d`), translated (`64:ff9b::a.b.c.d`), 6to4 (`2002:…`) or
/// compatible (`::a.b.c.d`). Each form reaches the same host on some network.
fn embedded_v4(ip: Ipv6Addr) -> Option<Ipv4Addr> {
    let from = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        Some(Ipv4Addr::new(a, b, c, d))
    };
    match ip.segments() {
        // `::` and `::1` are IPv6 addresses in their own right.
        [0, 0, 0, 0, 0, 0, 0, 0..=1] => None,
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => from(high, low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_link_local_and_group_addresses_are_refused_in_every_disguise() {
        for ip in [
            "169.254.169.254",
            "169.254.0.1",
            "100.100.100.200",
            "168.63.129.16",
            "192.0.0.192",
            "0.0.0.0",
            "0.1.2.3",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "fe80::1",
            "febf::1",
            "fd00:ec2::254",
            "fd20:ce::254",
            "ff02::1",
            "::ffff:169.254.169.254",
            "::ffff:0:169.254.169.254",
            "::169.254.169.254",
            "64:ff9b::169.254.169.254",
            "2002:a9fe:a9fe::",
        ] {
            assert!(is_forbidden(ip.parse().unwrap()).is_some(), "{ip}");
        }
    }

    #[test]
    fn loopback_private_and_public_addresses_are_allowed() {
        for ip in [
            "127.0.0.1",
            "10.0.0.1",
            "172.16.0.1",
            "192.168.1.1",
            "100.64.0.1",
            "93.184.216.34",
            "::1",
            "fd00::1",
            "fec0::1",
            "2606:2800:220:1::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
        ] {
            assert_eq!(is_forbidden(ip.parse().unwrap()), None, "{ip}");
        }
    }
}
