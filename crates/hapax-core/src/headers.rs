//! The headers of a request, kept byte for byte in one compact buffer.
//!
//! The buffer repeats: name length (u16), value length (u32), name, value; big-endian. Stores keep it unchanged.

use bytes::{BufMut, Bytes, BytesMut};

const PREFIX_BYTES: usize = 6;

/// The only header of an erased event.
pub const ERASED: &str = "hapax-erased";
/// The header, packed, with an empty value. SQL statements and scripts of the stores repeat these bytes.
const ERASED_BYTES: &[u8] = b"\0\x0c\0\0\0\0hapax-erased";

/// An ordered list of headers. Names are kept as they arrived; values may be any bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers(Bytes);

impl Headers {
    /// Packs headers. A name over 64 KiB or a value over 4 GiB would be left out, but the server's limits are far below
    /// both.
    pub fn pack<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Self {
        let mut buffer = BytesMut::with_capacity(512);
        for (name, value) in pairs {
            let (Ok(name_len), Ok(value_len)) = (u16::try_from(name.len()), u32::try_from(value.len()))
            else {
                continue;
            };
            buffer.put_u16(name_len);
            buffer.put_u32(value_len);
            buffer.put_slice(name.as_bytes());
            buffer.put_slice(value);
        }
        Self(buffer.freeze())
    }

    /// The headers that replace those of an erased event.
    pub fn erased() -> Self {
        Self(Bytes::from_static(ERASED_BYTES))
    }

    /// Whether these are the headers of an erased event. No request can have them: this header is removed on arrival.
    pub fn is_erased(&self) -> bool {
        self.0 == ERASED_BYTES
    }

    /// Restores headers from their packed form.
    pub fn from_bytes(bytes: impl Into<Bytes>) -> Self {
        Self(bytes.into())
    }

    /// The packed form, for a store to keep.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The first value of the header `name`, compared without case.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.iter()
            .find(|(found, _)| found.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    /// All pairs, in order of arrival. Stops early if the buffer is malformed.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let mut rest: &[u8] = &self.0;
        std::iter::from_fn(move || {
            let (prefix, tail) = rest.split_at_checked(PREFIX_BYTES)?;
            let name_len = usize::from(u16::from_be_bytes([prefix[0], prefix[1]]));
            let value_len = u32::from_be_bytes([prefix[2], prefix[3], prefix[4], prefix[5]]) as usize;
            let (name, tail) = tail.split_at_checked(name_len)?;
            let (value, tail) = tail.split_at_checked(value_len)?;
            rest = tail;
            Some((std::str::from_utf8(name).ok()?, value))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_come_back_in_order_and_byte_for_byte() {
        let pairs: [(&str, &[u8]); 3] = [("X-Odd", b"\xff\x00"), ("x-empty", b""), ("x-odd", b"second")];
        let headers = Headers::pack(pairs);
        let again = Headers::from_bytes(headers.as_bytes().to_vec());
        assert_eq!(again.iter().collect::<Vec<_>>(), pairs);
        assert_eq!(again.get("x-ODD"), Some(&b"\xff\x00"[..]));
        assert_eq!(again.get("absent"), None);
    }

    #[test]
    fn an_erased_event_has_one_header_with_nothing_in_it() {
        assert_eq!(Headers::erased(), Headers::pack([(ERASED, &b""[..])]));
        assert!(Headers::erased().is_erased() && !Headers::default().is_erased());
        assert!(!Headers::pack([(ERASED, &b""[..]), ("host", b"here")]).is_erased());
    }

    #[test]
    fn a_torn_buffer_ends_early_instead_of_failing() {
        let headers = Headers::pack([("a", &b"1"[..]), ("b", b"2")]);
        let torn = Headers::from_bytes(headers.as_bytes()[..headers.as_bytes().len() - 1].to_vec());
        assert_eq!(torn.iter().count(), 1);
    }
}
