//! Small JSON written by hand, for responses of fixed shape on the hot path.

/// Appends `text` as a JSON string, quotes included.
pub fn push_string(out: &mut String, text: &str) {
    out.push('"');
    let mut clean_from = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            0x00..=0x1f => "",
            _ => continue,
        };
        out.push_str(&text[clean_from..at]);
        if escape.is_empty() {
            push_control(out, byte);
        } else {
            out.push_str(escape);
        }
        clean_from = at + 1;
    }
    out.push_str(&text[clean_from..]);
    out.push('"');
}

fn push_control(out: &mut String, byte: u8) {
    const DIGITS: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
    ];
    out.push_str("\\u00");
    out.push(DIGITS[usize::from(byte >> 4)]);
    out.push(DIGITS[usize::from(byte & 0xf)]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_reads_back_as_itself() {
        for text in [
            "",
            "evt_1",
            "a\"b\\c",
            "\u{0}\u{1f}\n\t",
            "é\u{2028}\u{10ffff}",
            "\"",
            "tail\\",
        ] {
            let mut out = String::new();
            push_string(&mut out, text);
            assert_eq!(serde_json::from_str::<String>(&out).unwrap(), text, "{out}");
        }
    }
}
