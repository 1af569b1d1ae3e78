//! Where the fields of a signed form end.
//!
//! Names and values are signed one after another without separators: `MessageSid=SM12` and `MessageSi=dSM12` have the
//! same signature. But the fields that make up ids have a distinctive format, so the signed text itself shows where
//! they must be. In a form that has them elsewhere, the boundaries were moved.
//!
//! The author of a message's text can include names and values that look like these. Such a form is refused.

use std::collections::{BTreeSet, HashMap};

/// Fields that identify a message or call, such as `SM` and 32 hexadecimal digits.
const SIDS: [&str; 2] = ["CallSid", "MessageSid"];
/// Fields with its status, in lower case.
const STATES: [&str; 2] = ["CallStatus", "MessageStatus"];
const SID_DIGITS: usize = 32;

/// Whether the fields of ids are where the signed text indicates, each once.
pub(super) fn are_clear(fields: &BTreeSet<(String, String)>) -> bool {
    let mut text = String::new();
    // The value of each field, by the position in the text at which its name ends.
    let mut values = HashMap::new();
    for (name, value) in fields {
        text.push_str(name);
        values.insert(text.len(), value.as_str());
        text.push_str(value);
    }
    // For each occurrence of the name in the text: the text that follows, and the value of the field whose name ends
    // there.
    let are = |name: &str, is_clear: fn(Option<&str>, &str) -> bool| {
        let mut ends = text.match_indices(name).map(|(at, _)| at + name.len());
        ends.all(|end| is_clear(values.get(&end).copied(), text.get(end..).unwrap_or_default()))
    };
    SIDS.iter().all(|name| are(name, is_sid))
        && STATES.iter().all(|name| are(name, is_state))
        && SIDS.iter().chain(&STATES).all(|name| is_named_once(fields, name))
}

/// Whether the text after the name of a SID is its value, if it looks like one.
fn is_sid(value: Option<&str>, rest: &str) -> bool {
    let (prefix, digits) = rest.as_bytes().split_at(rest.len().min(2));
    let looks_so = prefix.len() == 2
        && prefix.iter().all(u8::is_ascii_uppercase)
        && digits.first().is_some_and(u8::is_ascii_hexdigit);
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let is_whole = digits
        .get(..SID_DIGITS)
        .is_some_and(|digits| digits.iter().all(is_digit));
    match value {
        None => !looks_so,
        Some(value) => !is_whole || value.len() == prefix.len() + SID_DIGITS,
    }
}

/// Whether the text after the name of a status is its value, if it looks like one.
fn is_state(value: Option<&str>, rest: &str) -> bool {
    let end = rest.find(|character: char| !matches!(character, 'a'..='z' | '_' | '-'));
    let word = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
    value.unwrap_or_default() == word
}

/// Whether at most one field has this name, and exactly one if other names end with it, as `ParentCallSid` does.
fn is_named_once(fields: &BTreeSet<(String, String)>, name: &str) -> bool {
    let exact = fields.iter().filter(|(known, _)| known == name).count();
    let longer = fields
        .iter()
        .any(|(known, _)| known != name && known.ends_with(name));
    exact == 1 || exact == 0 && !longer
}

#[cfg(test)]
mod tests {
    use super::*;

    const SID: &str = "SM00000000000000000000000000000abc";

    fn is_clear(form: &str) -> bool {
        let fields = form_urlencoded::parse(form.as_bytes()).into_owned().collect();
        are_clear(&fields)
    }

    #[test]
    fn forms_that_twilio_sends_are_clear() {
        for form in [
            format!("MessageSid={SID}&MessageStatus=delivered&SmsSid={SID}&SmsStatus=delivered&To=%2B1500"),
            format!("SmsMessageSid={SID}&MessageSid={SID}&SmsSid={SID}&Body=my+MessageSid+is+MessageSid"),
            "CallSid=CA0123456789abcdef0123456789abcdef&CallStatus=in-progress&ParentCallSid=CA123"
                .to_owned(),
            "CallSidEndingConference=CA123&ConferenceSid=CF1".to_owned(),
            "CallSid=CA1234567890ABCDE&Caller=%2B14158675309&Digits=1234".to_owned(),
            "Sid=CA123&SidAccount=AC123&Digits=5678&Digits=1234".to_owned(),
            "MessageStatus=&To=%2B1500".to_owned(),
            String::new(),
        ] {
            assert!(is_clear(&form), "{form}");
        }
    }

    #[test]
    fn moved_borders_are_found_wherever_they_are() {
        let tail = &SID[2..];
        for form in [
            format!("MessageSi=dS{}&MessageStatus=sent", &SID[1..]),
            format!("MessageSidS=M{tail}&MessageStatus=sent"),
            format!("MessageSid=&{SID}="),
            format!("MessageSid={SID}MessageStatussent"),
            format!("MessageSid={SID}M&essageStatus=sent"),
            format!("MessageSid={SID}&MessageStatu=ssent"),
            format!("MessageSid={SID}&MessageStatus=sentTo%2B1500"),
            format!("MessageSid={SID}&MessageStatus=sen&tTo=%2B1500"),
            format!("From=%2B1500MessageSid{SID}&MessageStatus=sent"),
            format!("From=%2B15&0MessageSid={SID}&MessageStatus=sent"),
            format!("MessageSid={SID}&MessageSid=SM1&MessageStatus=sent"),
        ] {
            assert!(!is_clear(&form), "{form}");
        }
    }
}
