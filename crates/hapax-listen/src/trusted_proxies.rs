//! The client of a request: the other end of its connection, or the client that a trusted proxy there forwards for.
//!
//! A proxy keeps its connections open and sends requests of many clients over each, so the client is determined for
//! every request. Anyone can write `X-Forwarded-For`, so it counts only on a connection from a trusted proxy, and is
//! read from the right: each proxy appends the address it saw, and the first one that is not a trusted proxy is the
//! client.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use arc_swap::ArcSwap;
use http::HeaderMap;
use http::header::{FORWARDED, HeaderName};

use super::peer::Peer;
use hapax_config::Network;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The proxies that are trusted to name the client they forward for. Clones share the same list.
#[derive(Clone, Debug, Default)]
pub struct TrustedProxies(Arc<ArcSwap<Vec<Network>>>);

impl TrustedProxies {
    pub fn new(networks: Vec<Network>) -> Self {
        Self(Arc::new(ArcSwap::from_pointee(networks)))
    }

    /// Replaces the list from the next request on.
    pub fn replace(&self, networks: Vec<Network>) {
        self.0.store(Arc::new(networks));
    }

    /// The peer that a connection is counted for; `None` for a proxy, which forwards for many clients.
    pub(super) fn counted(&self, peer: Peer) -> Option<Peer> {
        (!is_among(&self.0.load(), peer.0)).then_some(peer)
    }

    /// The client that sent a request with these headers over a connection from `socket`. If the headers cannot be
    /// parsed, this is the proxy itself.
    pub fn client(&self, socket: IpAddr, headers: &HeaderMap) -> Peer {
        let proxies = self.0.load();
        if !is_among(&proxies, socket) {
            return Peer(socket.to_canonical());
        }
        let said = |name: &HeaderName, node: fn(&str) -> Option<&str>| {
            headers
                .contains_key(name)
                .then(|| client(&proxies, headers, name, node))
        };
        let client = match (
            said(&X_FORWARDED_FOR, |hop| Some(hop)),
            said(&FORWARDED, forwarded_for),
        ) {
            (Some(client), None) | (None, Some(client)) => client,
            // A proxy writes one of them and passes the other on as the client sent it. Which one is not known here.
            (Some(one), Some(other)) => one.filter(|_| one == other),
            (None, None) => None,
        };
        Peer(client.unwrap_or(socket).to_canonical())
    }
}

fn is_among(networks: &[Network], address: IpAddr) -> bool {
    networks.iter().any(|network| network.contains(address))
}

/// The last hop that is not a trusted proxy, or the first hop if all of them are. `None` if a hop on the way to it
/// cannot be parsed.
fn client(
    proxies: &[Network],
    headers: &HeaderMap,
    name: &HeaderName,
    node: fn(&str) -> Option<&str>,
) -> Option<IpAddr> {
    let mut furthest = None;
    for line in headers.get_all(name).iter().rev() {
        for hop in split_outside_quotes(line.to_str().ok()?, ',').into_iter().rev() {
            let address = address(node(hop)?)?;
            if !is_among(proxies, address) {
                return Some(address);
            }
            furthest = Some(address);
        }
    }
    furthest
}

/// The value of `for` in one element of `Forwarded`.
fn forwarded_for(element: &str) -> Option<&str> {
    split_outside_quotes(element, ';').into_iter().find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        let is_for = name.trim().eq_ignore_ascii_case("for");
        is_for.then(|| value.trim().trim_matches('"'))
    })
}

/// `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:80`.
fn address(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let address = bare.unwrap_or(text).parse::<IpAddr>();
    address
        .or_else(|_| text.parse::<SocketAddr>().map(|address| address.ip()))
        .ok()
}

fn split_outside_quotes(text: &str, separator: char) -> Vec<&str> {
    let mut is_quoted = false;
    text.split(|character| {
        is_quoted ^= character == '"';
        character == separator && !is_quoted
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const PROXY: &str = "10.0.0.1";

    fn client(socket: &str, headers: &[(&'static str, &'static str)]) -> String {
        let proxies = ["10.0.0.0/8", "fd00::/8"].map(|text| text.parse().unwrap());
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect();
        let socket = socket.parse().unwrap();
        TrustedProxies::new(proxies.to_vec())
            .client(socket, &headers)
            .0
            .to_string()
    }

    #[test]
    fn a_header_from_anybody_else_than_a_trusted_proxy_is_not_believed() {
        let forged = [
            ("x-forwarded-for", "203.0.113.7"),
            ("forwarded", "for=203.0.113.7"),
        ];
        assert_eq!(client("198.51.100.1", &forged), "198.51.100.1");
        assert_eq!(client("::ffff:198.51.100.1", &[]), "198.51.100.1");
        let nobody = TrustedProxies::default();
        let headers = HeaderMap::from_iter([(X_FORWARDED_FOR, HeaderValue::from_static("203.0.113.7"))]);
        assert_eq!(
            nobody.client([127, 0, 0, 1].into(), &headers).0,
            IpAddr::from([127, 0, 0, 1])
        );
    }

    #[test]
    fn the_first_untrusted_hop_from_the_right_is_the_client() {
        for (said, is) in [
            ("203.0.113.7", "203.0.113.7"),
            ("203.0.113.7:4711", "203.0.113.7"),
            ("192.0.2.1, 203.0.113.7", "203.0.113.7"),
            ("192.0.2.1, 203.0.113.7, 10.0.0.2", "203.0.113.7"),
            ("garbage, 203.0.113.7, 10.0.0.2", "203.0.113.7"),
            ("10.0.0.3,10.0.0.2", "10.0.0.3"),
            ("2001:db8::1", "2001:db8::1"),
            ("[2001:db8::1]", "2001:db8::1"),
            ("[2001:db8::1]:443, fd00::2", "2001:db8::1"),
            ("::ffff:203.0.113.7", "203.0.113.7"),
        ] {
            assert_eq!(client(PROXY, &[("x-forwarded-for", said)]), is, "{said}");
        }
        let lines = [
            ("x-forwarded-for", "203.0.113.7"),
            ("x-forwarded-for", "10.0.0.2"),
        ];
        assert_eq!(client(PROXY, &lines), "203.0.113.7");
    }

    #[test]
    fn forwarded_is_read_by_the_same_rule() {
        for (said, is) in [
            ("for=203.0.113.7", "203.0.113.7"),
            ("proto=https;For=\"203.0.113.7:80\";by=10.0.0.1", "203.0.113.7"),
            (
                "for=192.0.2.1, for=203.0.113.7;by=\"a,b\", for=10.0.0.2",
                "203.0.113.7",
            ),
            ("for=\"[2001:db8::1]:4711\"", "2001:db8::1"),
        ] {
            assert_eq!(client(PROXY, &[("forwarded", said)]), is, "{said}");
        }
    }

    #[test]
    fn what_cannot_be_read_means_the_proxy_itself() {
        for said in [
            "",
            "unknown",
            "203.0.113.7, _hidden",
            "203.0.113.7,",
            "203.0.113",
            "203.0.113.7:http",
        ] {
            assert_eq!(client(PROXY, &[("x-forwarded-for", said)]), PROXY, "{said}");
        }
        for said in ["", "for=unknown", "by=203.0.113.7", "for=_x", "203.0.113.7"] {
            assert_eq!(client(PROXY, &[("forwarded", said)]), PROXY, "{said}");
        }
        assert_eq!(client(PROXY, &[]), PROXY);
    }

    #[test]
    fn a_client_cannot_choose_its_address_by_the_header_that_the_proxy_does_not_write() {
        let both = |forged| {
            client(
                PROXY,
                &[("x-forwarded-for", "203.0.113.7"), ("forwarded", forged)],
            )
        };
        assert_eq!(both("for=192.0.2.1"), PROXY);
        assert_eq!(both("for=203.0.113.7"), "203.0.113.7");
    }
}
