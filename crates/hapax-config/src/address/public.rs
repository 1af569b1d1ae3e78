//! Which addresses are on the public Internet, the only ones that data may name.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::normal;

/// Why an address is not public; `None` if it is. Follows the special-purpose address registries (RFC 6890).
pub fn is_not_public(ip: IpAddr) -> Option<&'static str> {
    match normal(ip) {
        IpAddr::V4(ip) => not_public_v4(ip),
        IpAddr::V6(ip) => not_public_v6(ip),
    }
}

fn not_public_v4(ip: Ipv4Addr) -> Option<&'static str> {
    match ip.octets() {
        [0, ..] => Some("it is not an address of any host (0.0.0.0/8)"),
        [127, ..] => Some("it is this machine itself (127.0.0.0/8)"),
        [10, ..] => Some("it is private (10.0.0.0/8)"),
        [172, 16..=31, ..] => Some("it is private (172.16.0.0/12)"),
        [192, 168, ..] => Some("it is private (192.168.0.0/16)"),
        [100, 64..=127, ..] => Some("it is used for carrier-grade NAT (100.64.0.0/10)"),
        [169, 254, ..] => Some("it is link-local (169.254.0.0/16)"),
        [192, 0, 0, _] => Some("it is reserved (192.0.0.0/24)"),
        [192, 88, 99, _] => Some("it is reserved (192.88.99.0/24)"),
        [198, 18..=19, ..] => Some("it is for benchmarks (198.18.0.0/15)"),
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => Some("it is for documentation"),
        [168, 63, 129, 16] => Some("it is the platform service of a cloud (168.63.129.16)"),
        [224..=239, ..] => Some("it is a multicast address (224.0.0.0/4)"),
        [240..=255, ..] => Some("it is reserved or broadcast (240.0.0.0/4)"),
        _ => None,
    }
}

fn not_public_v6(ip: Ipv6Addr) -> Option<&'static str> {
    match ip.segments() {
        [0, 0, 0, 0, 0, 0, 0, 1] => Some("it is this machine itself (::1)"),
        [0xfc00..=0xfdff, ..] => Some("it is private (fc00::/7)"),
        [0xfe80..=0xfebf, ..] => Some("it is link-local (fe80::/10)"),
        [0xff00..=0xffff, ..] => Some("it is a multicast address (ff00::/8)"),
        // Teredo, whose addresses embed an IPv4 address, and other addresses that are not Internet hosts.
        [0x2001, 0..=0x01ff, ..] => Some("it is reserved (2001::/23)"),
        [0x2001, 0x0db8, ..] | [0x3fff, 0..=0x0fff, ..] => Some("it is for documentation"),
        [0x2000..=0x3fff, ..] => None,
        _ => Some("it is not an address of the public Internet (2000::/3)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_disguise_makes_an_inner_address_public() {
        for ip in [
            "127.0.0.1",
            "127.255.255.255",
            "0.0.0.0",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "169.254.169.254",
            "168.63.129.16",
            "192.0.0.192",
            "198.19.0.1",
            "203.0.113.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:0:10.0.0.1",
            "::127.0.0.1",
            "64:ff9b::10.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::5db8:d822",
            "2002:0a00:0001::",
            "2002:7f00:0001::1",
            "2001:0:4136:e378:8000:63bf:3fff:fdd2",
            "2001:db8::1",
            "3fff::1",
            "fc00::1",
            "fd12:3456::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "5f00::1",
            "100::1",
        ] {
            assert!(is_not_public(ip.parse().unwrap()).is_some(), "{ip}");
        }
    }

    #[test]
    fn public_addresses_are_public_in_every_form() {
        for ip in [
            "93.184.216.34",
            "172.15.0.1",
            "172.32.0.1",
            "100.63.255.255",
            "100.128.0.1",
            "198.20.0.1",
            "2606:2800:220:1::1",
            "2001:4860:4860::8888",
            "64:ff9b::5db8:d822",
            "::ffff:93.184.216.34",
        ] {
            assert_eq!(is_not_public(ip.parse().unwrap()), None, "{ip}");
        }
    }
}
