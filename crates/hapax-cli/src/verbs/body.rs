//! A body that is passed to a verb as a file.

use std::io::Read as _;
use std::path::Path;

use anyhow::Context as _;
use bytes::Bytes;

/// A larger body is not read, because no service accepts it.
const BODY_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Reads a body from a file, or from stdin if the path is `-`.
pub fn read(path: &Path) -> anyhow::Result<Bytes> {
    let mut body = Vec::new();
    let limit = BODY_BYTES_MAX + 1;
    let read = if path == Path::new("-") {
        std::io::stdin().lock().take(limit).read_to_end(&mut body)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(limit).read_to_end(&mut body))
    };
    read.with_context(|| format!("the body could not be read from {}", path.display()))?;
    anyhow::ensure!(
        body.len() as u64 <= BODY_BYTES_MAX,
        "the body is larger than {BODY_BYTES_MAX} bytes"
    );
    Ok(body.into())
}
