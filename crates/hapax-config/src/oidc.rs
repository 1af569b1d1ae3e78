//! `[server.oidc]`: people sign in to the dashboard through an identity provider, with OpenID Connect.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;

use aws_lc_rs::digest::{SHA256, digest};
use hapax_core::Secret;
use http::Uri;
use serde_json::{Value, json};

use super::http_url::http_url;
use super::section::Section;
use super::setting::{AnyKey as _, Key, Setting as _, Table};
use super::tokens::{ADMIN_TOKEN, Role};

pub(super) static SERVER_OIDC: Key<toml::Table> = Key::optional(
    "oidc",
    "Dashboard sign-in through an identity provider; see `[server.oidc]`.",
);

static ISSUER: Key<String> = Key::required(
    "issuer",
    "The provider's issuer URL, exactly as in the `iss` of its ID tokens, with or without a trailing slash. `https`, unless it runs on this machine.",
)
.named("URL");

static DISCOVERY_URL: Key<String> = Key::depends(
    "discovery_url",
    "`issuer` and `/.well-known/openid-configuration`",
    "The URL of the provider's discovery document, if this service reaches the provider under another name than browsers do.",
)
.named("URL");

static CA: Key<String> = Key::optional(
    "ca",
    "A PEM file with certificate authorities to trust for the provider, in addition to the public ones: for a provider with a certificate of a private authority.",
)
.named("path");

static CLIENT_ID: Key<String> = Key::required("client_id", "The client id of this service at the provider.");

static CLIENT_SECRET: Key<Secret> = Key::optional(
    "client_secret",
    "The client secret. Omit it for a public client: PKCE is always used.",
);

static DASHBOARD_URL: Key<String> = Key::required(
    "dashboard_url",
    "The URL at which browsers open the dashboard. The provider must allow the redirect URL `<dashboard_url>/login/oidc/callback`.",
)
.named("URL");

static SCOPES: Key<Vec<String>> = Key::with_default(
    "scopes",
    "[\"profile\", \"email\"]",
    "The scopes to request in addition to `openid`; many providers have a separate scope for a user's groups.",
);

static ROLE_CLAIM: Key<String> = Key::required(
    "role_claim",
    "The claim whose values map to roles: its name, such as `groups`, or a JSON Pointer, such as `/resource_access/hapax/roles`. It is looked up in the ID token, and then in UserInfo.",
);

static ROLES: Key<toml::Table> = Key::required(
    "roles",
    "The role for each value of the claim: `{ \"platform-team\" = \"admin\", \"staff\" = \"read\" }`. The highest role wins; users without one cannot sign in.",
);

static SOURCES_CLAIM: Key<String> = Key::optional(
    "sources_claim",
    "The claim that lists the sources a user can see, looked up like `role_claim`; `*` is every source. Users without it cannot sign in. Without this key, every user sees every source.",
);

pub(super) static OIDC: Table = Table {
    header: "[server.oidc]",
    help: "Dashboard sign-in through an identity provider (OpenID Connect), in addition to tokens. `docs/guides/access.md` says what to enter at the provider. Needs `admin_token`. A change takes effect on a reload, and ends the sessions that were opened under the old settings.",
    keys: &[
        &ISSUER,
        &DISCOVERY_URL,
        &CA,
        &CLIENT_ID,
        &CLIENT_SECRET,
        &DASHBOARD_URL,
        &SCOPES,
        &ROLE_CLAIM,
        &ROLES,
        &SOURCES_CLAIM,
    ],
};

/// The path of a provider's discovery document, relative to the issuer.
const DISCOVERY_PATH: &str = "/.well-known/openid-configuration";
/// The most values of the role claim that can be mapped.
const ROLES_MAX: usize = 256;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Oidc {
    /// The provider, byte for byte as in its tokens.
    pub issuer: String,
    /// The provider's discovery document.
    pub discovery_url: Uri,
    /// A file with the authorities that sign its certificate, in addition to the public ones.
    pub ca: Option<PathBuf>,
    pub client_id: String,
    /// Authenticates this service as the client; `None` for a public client.
    pub client_secret: Option<Secret>,
    /// The URL at which browsers open the dashboard, without a trailing slash.
    pub dashboard_url: String,
    /// The scopes requested in addition to `openid`.
    pub scopes: Vec<String>,
    /// The claim that determines a person's role.
    pub role_claim: Claim,
    /// The role for each value of the claim.
    pub roles: BTreeMap<String, Role>,
    /// The claim that lists the sources a person may see. If it is not set, everyone sees all sources.
    pub sources_claim: Option<Claim>,
}

impl Oidc {
    /// The URL to which the provider sends the browser back.
    pub fn redirect_url(&self) -> String {
        format!("{}/login/oidc/callback", self.dashboard_url)
    }

    /// A digest of the settings that a session depends on. When it changes, sessions end, because their roles may have
    /// changed.
    pub fn fingerprint(&self) -> String {
        let roles: BTreeMap<&str, &str> = self
            .roles
            .iter()
            .map(|(value, role)| (value.as_str(), role.as_str()))
            .collect();
        let sources_claim = self.sources_claim.as_ref().map(Claim::as_str);
        let settings = json!([
            self.issuer,
            self.client_id,
            self.role_claim.as_str(),
            roles,
            sources_claim
        ]);
        hex::encode(digest(&SHA256, settings.to_string().as_bytes()))
    }
}

/// A claim: its name, or a JSON Pointer to a nested one, such as `/resource_access/hapax/roles`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim(String);

impl Claim {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The claim's value, if it is present.
    pub fn find<'a>(&self, claims: &'a Value) -> Option<&'a Value> {
        if self.0.starts_with('/') {
            claims.pointer(&self.0)
        } else {
            claims.get(&self.0)
        }
    }

    /// The claim's strings: one, or all those in an array.
    pub fn texts<'a>(&self, claims: &'a Value) -> Vec<&'a str> {
        match self.find(claims) {
            Some(Value::String(text)) => vec![text],
            Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
            Some(_) | None => Vec::new(),
        }
    }
}

/// Reads the table. `None` if it is missing, or if a required key is missing or invalid.
pub(super) fn read(server: &mut Section<'_, '_, '_>) -> Option<Oidc> {
    server.table(&SERVER_OIDC)?;
    if !server.has(&ADMIN_TOKEN) {
        server.problem(
            &SERVER_OIDC,
            "without `admin_token`, anyone on this machine has full access, and no one can sign in while the provider \
             is down; set one, such as \"env:HAPAX_ADMIN_TOKEN\"",
        );
    }
    let mut section = server.inner(&SERVER_OIDC, &OIDC);
    let oidc = read_table(&mut section);
    section.close();
    oidc
}

fn read_table(section: &mut Section<'_, '_, '_>) -> Option<Oidc> {
    for (name, example) in [
        (ISSUER.name(), "\"https://login.example.com\""),
        (CLIENT_ID.name(), "\"hapax\""),
        (DASHBOARD_URL.name(), "\"https://hapax.example.com\""),
        (ROLE_CLAIM.name(), "\"groups\""),
        (ROLES.name(), "{ \"platform-team\" = \"admin\" }"),
    ] {
        if !section.has(name) {
            section.missing(name, format_args!("write it like {name} = {example}"));
        }
    }
    let issuer = section.parsed(&ISSUER, |text| secure_url(text).map(|_| text.to_owned()));
    let described = section.parsed(&DISCOVERY_URL, secure_url);
    let ca = section.parsed(&CA, filled).map(PathBuf::from);
    let client_id = section.parsed(&CLIENT_ID, filled);
    let client_secret = section.secret(&CLIENT_SECRET);
    let dashboard_url = section.parsed(&DASHBOARD_URL, |text| secure_url(text).map(|_| text.to_owned()));
    let scopes = section.list(&SCOPES);
    let role_claim = section.parsed(&ROLE_CLAIM, filled).map(Claim);
    let roles = read_roles(section);
    let sources_claim = section.parsed(&SOURCES_CLAIM, filled).map(Claim);
    let issuer = issuer?;
    let at_issuer = || {
        format!("{}{DISCOVERY_PATH}", issuer.trim_end_matches('/'))
            .parse()
            .ok()
    };
    let discovery_url: Uri = described.or_else(at_issuer)?;
    section.show(&DISCOVERY_URL, discovery_url.to_string());
    let dashboard_url = dashboard_url?.trim_end_matches('/').to_owned();
    section.show(&DASHBOARD_URL, dashboard_url.as_str());
    Some(Oidc {
        issuer,
        discovery_url,
        ca,
        client_id: client_id?,
        client_secret,
        dashboard_url,
        scopes: scopes.into_iter().map(|(_, scope)| scope).collect(),
        role_claim: role_claim?,
        roles,
        sources_claim,
    })
}

fn read_roles(section: &mut Section<'_, '_, '_>) -> BTreeMap<String, Role> {
    let written = section.texts_by_name(&ROLES);
    if section.has(&ROLES) && !(1..=ROLES_MAX).contains(&written.len()) {
        section.problem(
            &ROLES,
            format_args!("1 to {ROLES_MAX} values can be mapped; without any, no one could sign in"),
        );
    }
    let mut roles = BTreeMap::new();
    for (path, value, name) in written {
        match Role::from_text(&name, ROLES.facts()) {
            Ok(role) => drop(roles.insert(value, role)),
            Err(error) => section.report.problem(&path, error),
        }
    }
    let shown = roles.iter().map(|(value, role)| (value.clone(), role.to_toml()));
    section.show(&ROLES, shown.collect::<toml::Table>());
    roles
}

fn filled(text: &str) -> Result<String, &'static str> {
    if text.trim().is_empty() {
        return Err("this is empty");
    }
    Ok(text.to_owned())
}

/// Parses a URL that is safe from eavesdropping and tampering: one with TLS, or one on this machine.
pub fn secure_url(text: &str) -> Result<Uri, String> {
    let uri = http_url(text)?;
    let host = uri.host().unwrap_or_default();
    let literal = host.trim_start_matches('[').trim_end_matches(']');
    let is_local = host == "localhost" || literal.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    if uri.scheme_str() == Some("https") || is_local {
        return Ok(uri);
    }
    Err(
        "this is not safe without TLS; write an https:// URL, or http:// for a host on this machine"
            .to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_found_by_its_name_or_by_a_pointer() {
        let claims = json!({
            "groups": ["a", 1, "b"],
            "role": "a",
            "https://example.com/roles": ["a"],
            "resource_access": {"hapax": {"roles": ["a"]}},
            "a/b": {"c": "a"},
            "objects": [{"name": "a"}],
        });
        let texts = |claim: &str| Claim(claim.to_owned()).texts(&claims).join(" ");
        assert_eq!(texts("groups"), "a b");
        for claim in [
            "role",
            "https://example.com/roles",
            "/resource_access/hapax/roles",
            "/a~1b/c",
            "/role",
        ] {
            assert_eq!(texts(claim), "a", "{claim}");
        }
        for claim in ["missing", "/resource_access/other/roles", "objects", "/role/x"] {
            assert_eq!(texts(claim), "", "{claim}");
        }
    }
}
