//! Certificates for a server with TLS: an authority, and the certificate it signed.

use std::path::Path;

use crate::ServerError;
use crate::program::{command, run};

/// The authority's certificate.
pub(crate) const AUTHORITY: &str = "authority.pem";
/// The server's certificate, for `localhost`.
pub(crate) const CERTIFICATE: &str = "server.pem";
/// The server's key.
pub(crate) const KEY: &str = "server.key";

const NEW_KEY: &str = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";

/// Creates all three in `folder`, which belongs to the server's user.
pub(crate) fn make(folder: &Path) -> Result<(), ServerError> {
    openssl(
        folder,
        &format!("req -x509 {NEW_KEY} -subj /CN=authority -days 2 -keyout authority.key -out {AUTHORITY}"),
    )?;
    openssl(
        folder,
        &format!(
            "req {NEW_KEY} -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout {KEY} -out server.csr"
        ),
    )?;
    openssl(
        folder,
        &format!(
            "x509 -req -in server.csr -copy_extensions copy -CA {AUTHORITY} -CAkey authority.key -CAcreateserial \
             -days 2 -out {CERTIFICATE}"
        ),
    )
}

/// Creates a self-signed X.509 version 1 certificate, which openssl writes if there are no extensions.
pub(crate) fn make_version_1(folder: &Path) -> Result<(), ServerError> {
    openssl(
        folder,
        &format!("req {NEW_KEY} -subj /CN=localhost -keyout {KEY} -out server.csr"),
    )?;
    openssl(
        folder,
        &format!("x509 -req -in server.csr -signkey {KEY} -days 2 -out {CERTIFICATE}"),
    )
}

fn openssl(folder: &Path, arguments: &str) -> Result<(), ServerError> {
    let mut openssl = command(Path::new("/usr/bin/openssl"));
    openssl.args(arguments.split_whitespace()).current_dir(folder);
    run(&mut openssl, "openssl")
}
