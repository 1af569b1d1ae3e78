//! Certificates: those of an authority made with OpenSSL, and those that providers publish.

use std::path::{Path, PathBuf};
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tempfile::TempDir;

/// 1.2.840.113549.1.1.11
const SHA256_WITH_RSA: [u8; 9] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0b];

/// An authority: its own certificate, and the ones that it issues.
pub struct Authority(TempDir);

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

impl Authority {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        request(folder.path(), "ca", "basicConstraints = critical, CA:TRUE", &[]);
        Self(folder)
    }

    /// Its own certificate.
    pub fn path(&self) -> PathBuf {
        self.0.path().join("ca.crt")
    }

    /// Writes `NAME.crt` and `NAME.key`, for this machine, and `NAME.pem` with both.
    pub fn certify(&self, folder: &Path, name: &str) {
        let extensions =
            "basicConstraints = critical, CA:FALSE\nsubjectAltName = DNS:localhost, IP:127.0.0.1";
        let (ca, key) = (self.path(), self.0.path().join("ca.key"));
        let signed_by = ["-CA", ca.to_str().unwrap(), "-CAkey", key.to_str().unwrap()];
        request(folder, name, extensions, &signed_by);
        let read = |ending| std::fs::read_to_string(folder.join(format!("{name}.{ending}"))).unwrap();
        std::fs::write(folder.join(format!("{name}.pem")), read("crt") + &read("key")).unwrap();
    }
}

fn request(folder: &Path, name: &str, extensions: &str, more: &[&str]) {
    let settings = folder.join(format!("{name}.cnf"));
    let text = format!(
        "[req]\ndistinguished_name = dn\nx509_extensions = ext\nprompt = no\n[dn]\nCN = {name}\n[ext]\n{extensions}\n"
    );
    std::fs::write(&settings, text).unwrap();
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            "2",
        ])
        .arg("-config")
        .arg(&settings)
        .arg("-keyout")
        .arg(folder.join(format!("{name}.key")))
        .arg("-out")
        .arg(folder.join(format!("{name}.crt")))
        .args(more)
        .output()
        .expect("openssl is needed: apt-get install openssl");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

/// A certificate with this name for this public key. Its own signature is empty: no one can check it without its
/// issuers.
pub fn certificate_of(name: &str, public_key: &str) -> String {
    let key = STANDARD.decode(public_key).unwrap();
    let name = der(
        0x30,
        &[&der(0x06, &[&[0x55, 0x04, 0x03]]), &der(0x13, &[name.as_bytes()])],
    );
    let name = der(0x30, &[&der(0x31, &[&name])]);
    let time = |text: &[u8]| der(0x17, &[text]);
    let validity = der(0x30, &[&time(b"250101000000Z"), &time(b"491231235959Z")]);
    let algorithm = der(0x30, &[&der(0x06, &[&SHA256_WITH_RSA]), &der(0x05, &[])]);
    let signed = der(
        0x30,
        &[&der(0x02, &[&[1]]), &algorithm, &name, &validity, &name, &key],
    );
    let certificate = der(0x30, &[&signed, &algorithm, &der(0x03, &[&[0]])]);
    let encoded = STANDARD.encode(certificate);
    format!("-----BEGIN CERTIFICATE-----\n{encoded}\n-----END CERTIFICATE-----\n")
}

fn der(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let length = u16::try_from(content.len()).unwrap().to_be_bytes();
    let header = match content.len() {
        0..=0x7f => vec![tag, length[1]],
        0x80..=0xff => vec![tag, 0x81, length[1]],
        _ => vec![tag, 0x82, length[0], length[1]],
    };
    [header, content].concat()
}
