//! `[server.tls]` and `[server.admin_tls]`.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::section::Section;
use super::setting::{Key, Table};

pub(super) static SERVER_TLS: Key<toml::Table> =
    Key::optional("tls", "TLS on both ports; see `[server.tls]`.");

pub(super) static SERVER_ADMIN_TLS: Key<toml::Table> = Key::depends(
    "admin_tls",
    "`server.tls`",
    "TLS on the admin port, where it differs from `[server.tls]`: a table with the same keys, or `false` for plain text on a loopback address.",
)
.named("table, or `false`");

static CERT: Key<PathBuf> = Key::required(
    "cert",
    "The certificate in PEM format, followed by its intermediate certificates. Reloaded within seconds after it changes, like the other two files.",
);

static KEY: Key<PathBuf> = Key::required("key", "The certificate's private key in PEM format.");

static CLIENT_CA: Key<PathBuf> = Key::optional(
    "client_ca",
    "Certificate authorities in PEM format (mutual TLS): only clients with a certificate from one of them can connect.",
);

pub(super) static TLS: Table = Table {
    header: "[server.tls]",
    help: "TLS with HTTP/1.1 and HTTP/2 on both ports, TLS 1.2 or newer.",
    keys: &[&CERT, &KEY, &CLIENT_CA],
};

pub(super) static ADMIN_TLS: Table = Table {
    header: "[server.admin_tls]",
    help: "TLS on the admin port, instead of `[server.tls]`; for example with its own `client_ca`.",
    keys: TLS.keys,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// The certificate and its chain up to the authority.
    pub cert: PathBuf,
    /// The certificate's private key.
    pub key: PathBuf,
    /// The authorities that sign client certificates. If set, every client must present a certificate of theirs.
    pub client_ca: Option<PathBuf>,
}

/// TLS of `listen` and of `admin_listen`. The latter uses the same settings, unless it has its own table or is switched
/// off.
pub(super) fn read(
    section: &mut Section<'_, '_, '_>,
    admin_listen: SocketAddr,
) -> (Option<Tls>, Option<Tls>) {
    let tls = table(section, &SERVER_TLS, &TLS);
    if section.is_off(&SERVER_ADMIN_TLS) {
        if tls.is_some() && !admin_listen.ip().to_canonical().is_loopback() {
            section.problem(
                &SERVER_ADMIN_TLS,
                format_args!(
                    "{admin_listen} can be reached from other machines, and its token would cross the network in plain \
                     text; remove `admin_tls = false`, or listen on 127.0.0.1"
                ),
            );
        }
        if tls.is_some() {
            section.show(&SERVER_ADMIN_TLS, false);
        }
        return (tls, None);
    }
    if !section.has(&SERVER_ADMIN_TLS) {
        return (tls.clone(), tls);
    }
    let admin_tls = table(section, &SERVER_ADMIN_TLS, &ADMIN_TLS);
    if admin_tls == tls {
        section.hide(&SERVER_ADMIN_TLS);
    }
    (tls, admin_tls)
}

fn table(
    section: &mut Section<'_, '_, '_>,
    name: &'static Key<toml::Table>,
    known: &'static Table,
) -> Option<Tls> {
    section.table(name)?;
    let mut inner = section.inner(name, known);
    let (cert, key, client_ca) = (inner.find(&CERT), inner.find(&KEY), inner.find(&CLIENT_CA));
    for key in [&CERT, &KEY] {
        if !inner.has(key) {
            inner.missing(
                key,
                "TLS needs a certificate and its key; set the paths of both files, such as cert = \
                 \"/etc/hapax/tls.crt\" and key = \"/etc/hapax/tls.key\"",
            );
        }
    }
    let shown = inner.into_value();
    section.show(name, shown);
    Some(Tls {
        cert: cert?,
        key: key?,
        client_ca,
    })
}
