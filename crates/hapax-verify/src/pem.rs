//! PEM, the text form of keys and certificates.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The maximum size of a block, in bytes.
const BLOCK_BYTES_MAX: usize = 16 * 1024;

/// The bytes of the first block with this label in a PEM text. `rustls-pki-types` reads PEM, too, but would be another
/// dependency of a published crate for these few lines.
pub(crate) fn pem_block(text: &str, label: &str) -> Option<Vec<u8>> {
    let (_, rest) = text.split_once(&format!("-----BEGIN {label}-----"))?;
    let (inside, _) = rest.split_once(&format!("-----END {label}-----"))?;
    if inside.len() > BLOCK_BYTES_MAX {
        return None;
    }
    let encoded: String = inside
        .chars()
        .filter(|character| !character.is_ascii_whitespace())
        .collect();
    STANDARD.decode(encoded).ok()
}
