//! `[server.oidc]`: people sign in to the dashboard through an identity provider, with OpenID Connect.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;

use aws_lc_rs::digest::{SHA256, digest};
use hapax_core::Secret;
use http::Uri;
use serde_json::{Value, json};

use super::http_url::http_url;
use super::keys::OIDC;
use super::nearest::suggestion;
use super::section::Section;
use super::tokens::Role;

/// The path of a provider's discovery document, relative to the issuer.
const DISCOVERY_PATH: &str = "/.well-known/openid-configuration";
/// The scopes requested in addition to `openid` by default.
const SCOPES: [&str; 2] = ["profile", "email"];
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

    /// Every value except the secret, as written in the file.
    pub(super) fn shown(&self) -> Vec<(&'static str, toml::Value)> {
        let roles = self.roles.iter();
        let roles = roles.map(|(value, role)| (value.clone(), role.as_str().into()));
        let mut values = vec![
            ("issuer", self.issuer.clone().into()),
            ("discovery_url", self.discovery_url.to_string().into()),
            ("client_id", self.client_id.clone().into()),
            ("dashboard_url", self.dashboard_url.clone().into()),
            ("scopes", self.scopes.clone().into()),
            ("role_claim", self.role_claim.as_str().into()),
            ("roles", toml::Value::Table(roles.collect())),
        ];
        let ca = self.ca.as_ref().map(|path| path.display().to_string());
        values.extend(ca.map(|path| ("ca", path.into())));
        let sources_claim = self.sources_claim.as_ref();
        values.extend(sources_claim.map(|claim| ("sources_claim", claim.as_str().into())));
        values
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
    let table = server.table("oidc")?.get_ref().as_table();
    if !server.has("admin_token") {
        server.problem(
            "oidc",
            "without `admin_token` everybody on this machine may do everything, and nobody gets in while the provider is \
             down; set one, such as \"env:HAPAX_ADMIN_TOKEN\"",
        );
    }
    let path = server.path("oidc");
    let mut section = Section::open(path, &OIDC, table, BTreeMap::new(), server.report);
    for (name, example) in [
        ("issuer", "\"https://login.example.com\""),
        ("client_id", "\"hapax\""),
        ("dashboard_url", "\"https://hapax.example.com\""),
        ("role_claim", "\"groups\""),
        ("roles", "{ \"platform-team\" = \"admin\" }"),
    ] {
        if !section.has(name) {
            section.missing(name, format_args!("write it like {name} = {example}"));
        }
    }
    let issuer = section.parsed("issuer", |text| secure_url(text).map(|_| text.to_owned()));
    let described = section.parsed("discovery_url", secure_url);
    let ca = section.parsed("ca", filled).map(PathBuf::from);
    let client_id = section.parsed("client_id", filled);
    let client_secret = section.secret("client_secret");
    let dashboard_url = section.parsed("dashboard_url", |text| secure_url(text).map(|_| text.to_owned()));
    let scopes = section.texts("scopes");
    let role_claim = section.parsed("role_claim", filled).map(Claim);
    let roles = read_roles(&mut section);
    let sources_claim = section.parsed("sources_claim", filled).map(Claim);
    let issuer = issuer?;
    let at_issuer = || format!("{}{DISCOVERY_PATH}", issuer.trim_end_matches('/')).parse();
    Some(Oidc {
        discovery_url: described.or_else(|| at_issuer().ok())?,
        issuer,
        ca,
        client_id: client_id?,
        client_secret,
        dashboard_url: dashboard_url?.trim_end_matches('/').to_owned(),
        scopes: scopes.map_or_else(
            || SCOPES.map(str::to_owned).into(),
            |scopes| scopes.into_iter().map(|(_, scope)| scope).collect(),
        ),
        role_claim: role_claim?,
        roles,
        sources_claim,
    })
}

fn read_roles(section: &mut Section<'_, '_, '_>) -> BTreeMap<String, Role> {
    let written = section.texts_by_name("roles");
    if section.has("roles") && !(1..=ROLES_MAX).contains(&written.len()) {
        section.problem(
            "roles",
            format_args!("1 to {ROLES_MAX} values can be mapped; without any, nobody could sign in"),
        );
    }
    let mut roles = BTreeMap::new();
    for (path, value, name) in written {
        if let Some(role) = Role::named(&name) {
            roles.insert(value, role);
            continue;
        }
        let meant = suggestion(&name, Role::NAMES.iter().copied());
        let known = Role::NAMES.join("\", \"");
        let message = format!("\"{name}\" is not one of \"{known}\"{meant}");
        section.report.problem(&path, message);
    }
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
