//! A certificate authority made with OpenSSL: its own certificate, and the ones that it issues.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

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
