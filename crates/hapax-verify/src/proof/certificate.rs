//! The relevant parts of an X.509 certificate: its validity, its subject and its public key.
//!
//! Signers' certificates come without their issuers, so no chain can be checked: trust rests on the host that the
//! certificate was fetched from. DER is read strictly, up to the first irregularity.

use x509_cert::der::asn1::Any;
use x509_cert::der::oid::db::rfc4519::COMMON_NAME;
use x509_cert::der::{Decode as _, Encode as _, Tag, Tagged as _};
use x509_cert::name::Name;
use x509_cert::time::Time;

use crate::pem::pem_block;

/// The types in which host names are written.
const STRINGS: [Tag; 3] = [Tag::PrintableString, Tag::Utf8String, Tag::Ia5String];

/// A parsed certificate, not yet trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Certificate {
    /// The public key as a `SubjectPublicKeyInfo` in DER.
    pub(super) public_key: Vec<u8>,
    /// The only common name of its subject; `None` if there is none or more than one.
    pub(super) common_name: Option<String>,
    not_before: i64,
    not_after: i64,
}

impl Certificate {
    /// The first certificate in a PEM text.
    pub(super) fn from_pem(text: &str) -> Option<Self> {
        Self::from_der(&pem_block(text, "CERTIFICATE")?)
    }

    /// Whether it is valid at this time, in Unix seconds.
    pub(super) fn is_valid_at(&self, time: i64) -> bool {
        (self.not_before..=self.not_after).contains(&time)
    }

    fn from_der(der: &[u8]) -> Option<Self> {
        let certificate = x509_cert::Certificate::from_der(der).ok()?;
        let signed = certificate.tbs_certificate();
        let seconds = |time: Time| i64::try_from(time.to_unix_duration().as_secs()).ok();
        Some(Certificate {
            public_key: signed.subject_public_key_info().to_der().ok()?,
            common_name: only(common_names(signed.subject())?),
            not_before: seconds(signed.validity().not_before)?,
            not_after: seconds(signed.validity().not_after)?,
        })
    }
}

fn only(mut names: Vec<String>) -> Option<String> {
    (names.len() == 1).then(|| names.pop()).flatten()
}

/// All common names of a subject; `None` if one is not a plain string.
fn common_names(subject: &Name) -> Option<Vec<String>> {
    let text = |value: &Any| {
        let is_string = STRINGS.contains(&value.tag());
        is_string.then(|| String::from_utf8(value.value().to_vec()).ok())?
    };
    let names = subject.iter().filter(|attribute| attribute.oid == COMMON_NAME);
    names.map(|attribute| text(&attribute.value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE_NAME: &str = "\
-----BEGIN CERTIFICATE-----
MIIB2jCCAYCgAwIBAgIUOZR6vKd7t/Qq+x5DjWufZd7CubkwCgYIKoZIzj0EAwIw
PDELMAkGA1UEBhMCVVMxEDAOBgNVBAoMB0V4YW1wbGUxGzAZBgNVBAMMEnNpZ25l
ci5leGFtcGxlLmNvbTAgFw0yNjExMTcxNDQ4NDlaGA8yMDU5MDkyNTE0NDg0OVow
PDELMAkGA1UEBhMCVVMxEDAOBgNVBAoMB0V4YW1wbGUxGzAZBgNVBAMMEnNpZ25l
ci5leGFtcGxlLmNvbTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABI3l8ggFQdjV
zSZ5rJVUzGi7beiN2BSyIv6gfucLFKD7OalQ4J4i4e5gyVV+HVoQHgIEJ9G8dcvO
opggtnVmKSujXjBcMAwGA1UdEwEB/wQCMAAwDgYDVR0PAQH/BAQDAgeAMB0GA1Ud
EQQWMBSCEnNpZ25lci5leGFtcGxlLmNvbTAdBgNVHQ4EFgQUZ6BAesYumLyv0rlE
vATUn5smKZUwCgYIKoZIzj0EAwIDSAAwRQIhAIdoqRX3734T6yNEICwLrUvrBEpF
kpHeGDe7X2tv/3qUAiA4JqRJ8sNCRsBkTuPIdBBxFJ6ZbcMJ246erWArshvwTg==
-----END CERTIFICATE-----
";
    const TWO_NAMES: &str = "\
-----BEGIN CERTIFICATE-----
MIIBYzCCAQkCFFGTYWOArqpulREBLbS/mfM5W0fiMAoGCCqGSM49BAMCMDMxGzAZ
BgNVBAMMEnNpZ25lci5leGFtcGxlLmNvbTEUMBIGA1UEAwwLZXhhbXBsZS5jb20w
IBcNMjYxMTE3MTQzMjUzWhgPMjA1OTA5MjUxNDMyNTNaMDMxGzAZBgNVBAMMEnNp
Z25lci5leGFtcGxlLmNvbTEUMBIGA1UEAwwLZXhhbXBsZS5jb20wWTATBgcqhkjO
PQIBBggqhkjOPQMBBwNCAASN5fIIBUHY1c0meayVVMxou23ojdgUsiL+oH7nCxSg
+zmpUOCeIuHuYMlVfh1aEB4CBCfRvHXLzqKYILZ1ZikrMAoGCCqGSM49BAMCA0gA
MEUCIQDAroAyqDAtrQYUI8ow3c740O4R4w0NBS/P9AaAhpzY7gIgDtZFqKFzDNyf
pXFlTOt00ow/QgFr7Jp2Zn8sQB6aisY=
-----END CERTIFICATE-----
";

    #[test]
    fn a_certificate_is_read_beyond_the_years_of_two_digits() {
        let certificate = Certificate::from_pem(ONE_NAME).unwrap();
        assert_eq!(certificate.common_name.as_deref(), Some("signer.example.com"));
        let (first, last) = (1_794_926_929, 2_831_726_929);
        for (time, valid) in [(first - 1, false), (first, true), (last, true), (last + 1, false)] {
            assert_eq!(certificate.is_valid_at(time), valid, "{time}");
        }
    }

    #[test]
    fn a_certificate_with_two_common_names_has_none() {
        assert_eq!(Certificate::from_pem(TWO_NAMES).unwrap().common_name, None);
    }

    #[test]
    fn a_certificate_with_a_byte_too_many_or_too_few_is_refused() {
        let mut der = pem_block(ONE_NAME, "CERTIFICATE").unwrap();
        assert!(Certificate::from_der(&der).is_some());
        assert_eq!(Certificate::from_der(&der[..der.len() - 1]), None);
        der.push(0);
        assert_eq!(Certificate::from_der(&der), None);
    }
}
