//! Finds a value in a JSON body by its pointer, without parsing the whole document.

use std::borrow::Cow;
use std::collections::HashMap;

use hapax_core::store::json_text;
use hapax_verify::identity::Pointer;
use serde_json::value::RawValue;

/// The value at `pointer` as it is written; `None` if the body is not JSON.
pub(crate) fn find<'body>(body: &'body [u8], pointer: &Pointer) -> Option<&'body RawValue> {
    let mut value: &RawValue = serde_json::from_slice(json_text(body)).ok()?;
    for token in pointer.tokens() {
        value = child(value, token)?;
    }
    Some(value)
}

fn child<'a>(value: &'a RawValue, token: &str) -> Option<&'a RawValue> {
    match value.get().as_bytes().first()? {
        b'{' => {
            let members: HashMap<Cow<'a, str>, &'a RawValue> = serde_json::from_str(value.get()).ok()?;
            members.get(token).copied()
        }
        b'[' => {
            let index: usize = token.parse().ok()?;
            let items: Vec<&'a RawValue> = serde_json::from_str(value.get()).ok()?;
            items.get(index).copied()
        }
        _ => None,
    }
}
