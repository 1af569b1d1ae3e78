//! A URL that differs from the one that the provider calls, for providers that sign it.

use super::Mistake;
use crate::request::Request;
use crate::verifier::Verifier;

pub(super) fn find(verifier: &Verifier, request: &Request<'_>) -> Option<Mistake> {
    if !verifier.recipe().proof.covers_url() {
        return None;
    }
    let configured = configured(verifier, request);
    let signed = variants(configured, request)
        .into_iter()
        .find(|variant| fits(verifier, request, configured, variant))?;
    Some(Mistake::Url {
        signed: without_query(&signed),
        configured: without_query(configured),
    })
}

/// The URL from the preset's option, or else the service's public URL.
fn configured<'a>(verifier: &'a Verifier, request: &Request<'a>) -> &'a str {
    let mut texts = verifier.options().texts();
    texts
        .find(|text| text.starts_with("http://") || text.starts_with("https://"))
        .unwrap_or(request.url)
}

fn fits(verifier: &Verifier, request: &Request<'_>, configured: &str, url: &str) -> bool {
    let options = verifier.options().replaced(configured, url);
    let variant = Verifier::new(verifier.recipe(), verifier.secrets(), &options);
    variant.is_ok_and(|variant| variant.proves(&Request { url, ..*request }))
}

/// The same URL in other spellings: at most 2 schemes × 3 hosts × 3 ports × 3 paths × 3 queries.
fn variants(configured: &str, request: &Request<'_>) -> Vec<String> {
    let Some(parts) = Parts::of(configured) else {
        return Vec::new();
    };
    let mut variants = Vec::new();
    for scheme in ["https", "http"] {
        for host in parts.hosts(request) {
            for port in parts.ports(scheme) {
                for path in parts.paths() {
                    for query in parts.queries(request) {
                        variants.push(format!("{scheme}://{host}{port}{path}{query}"));
                    }
                }
            }
        }
    }
    variants
}

struct Parts<'a> {
    host: &'a str,
    /// Including its `:`.
    port: &'a str,
    path: &'a str,
    /// Including its `?`.
    query: &'a str,
}

impl<'a> Parts<'a> {
    fn of(url: &'a str) -> Option<Self> {
        let (_, rest) = url.split_once("://")?;
        let (rest, query) = rest.split_at(rest.find('?').unwrap_or(rest.len()));
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (host, port) = split_port(authority);
        Some(Parts {
            host,
            port,
            path,
            query,
        })
    }

    /// The hosts named in the request are tried but never trusted: nothing is accepted here.
    fn hosts(&self, request: &Request<'a>) -> Vec<&'a str> {
        let named = ["host", "x-forwarded-host"].into_iter().filter_map(|name| {
            let value = std::str::from_utf8(request.headers.get(name)?).ok()?;
            Some(split_port(value).0)
        });
        let mut hosts: Vec<&str> = std::iter::once(self.host).chain(named).collect();
        hosts.dedup();
        hosts
    }

    fn ports(&self, scheme: &str) -> Vec<&'a str> {
        let default = if scheme == "https" { ":443" } else { ":80" };
        let mut ports = vec![self.port, "", default];
        ports.dedup();
        ports
    }

    fn paths(&self) -> [String; 3] {
        let bare = self.path.trim_end_matches('/');
        [self.path.to_owned(), bare.to_owned(), format!("{bare}/")]
    }

    fn queries(&self, request: &Request<'_>) -> Vec<String> {
        let mut queries = vec![self.query.to_owned(), String::new()];
        if !request.query.is_empty() {
            queries.push(format!("?{}", request.query));
        }
        queries.dedup();
        queries
    }
}

fn split_port(authority: &str) -> (&str, &str) {
    match authority.rfind(':') {
        // The colons of an IPv6 address are inside its brackets.
        Some(at) if !authority[at..].contains(']') => authority.split_at(at),
        Some(_) | None => (authority, ""),
    }
}

/// Removes the query, because it may contain a token.
fn without_query(url: &str) -> String {
    match url.split_once('?') {
        Some((rest, _)) => format!("{rest}?…"),
        None => url.to_owned(),
    }
}
