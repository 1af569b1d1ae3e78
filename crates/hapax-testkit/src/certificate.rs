//! Certificates as providers publish them. The attack suite uses this file, too.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// 1.2.840.113549.1.1.11
const SHA256_WITH_RSA: [u8; 9] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0b];

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
