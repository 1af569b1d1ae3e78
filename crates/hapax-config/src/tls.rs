//! `[server.tls]` and `[server.admin_tls]`.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use super::keys;
use super::section::Section;

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
    let tls = table(section, "tls", &keys::TLS);
    if section.is_off("admin_tls") {
        if tls.is_some() && !admin_listen.ip().to_canonical().is_loopback() {
            section.problem(
                "admin_tls",
                format_args!(
                    "{admin_listen} can be reached from other machines, and its token would cross the network in plain \
                     text; remove `admin_tls = false`, or listen on 127.0.0.1"
                ),
            );
        }
        return (tls, None);
    }
    let admin_tls = if section.has("admin_tls") {
        table(section, "admin_tls", &keys::ADMIN_TLS)
    } else {
        tls.clone()
    };
    (tls, admin_tls)
}

fn table(section: &mut Section<'_, '_, '_>, name: &str, keys: &'static keys::Table) -> Option<Tls> {
    let table = section.table(name)?.get_ref().as_table();
    let path = section.path(name);
    let mut section = Section::open(path, keys, table, BTreeMap::new(), section.report);
    let mut file = |name: &str| section.text(name).map(PathBuf::from);
    let [cert, key, client_ca] = ["cert", "key", "client_ca"].map(&mut file);
    for (name, file) in [("cert", &cert), ("key", &key)] {
        if file.is_none() && !section.has(name) {
            section.missing(
                name,
                "TLS needs a certificate and its key; name their files, such as cert = \"/etc/hapax/tls.crt\" and \
                 key = \"/etc/hapax/tls.key\"",
            );
        }
    }
    Some(Tls {
        cert: cert?,
        key: key?,
        client_ca,
    })
}
