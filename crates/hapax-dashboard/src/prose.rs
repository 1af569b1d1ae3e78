//! Sentences from the service on pages: text between backticks is shown as code, and each begins and ends like a
//! sentence. All of it is escaped: a backtick from a provider turns a few letters into code, and nothing else.

use maud::{Markup, html};

pub(crate) fn prose(text: &str) -> Markup {
    marked(&sentence(text))
}

/// Text from the service that is not a sentence.
pub(crate) fn marked(text: &str) -> Markup {
    html! {
        @for (place, part) in text.split('`').enumerate() {
            @if place % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// Details begin in lower case and have no full stop, like log lines.
pub(crate) fn sentence(detail: &str) -> String {
    let mut letters = detail.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string());
    let end = if detail.ends_with(['.', '…', '!', '?']) {
        ""
    } else {
        "."
    };
    format!("{}{}{end}", first.unwrap_or_default(), letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_marked_and_markup_stays_text() {
        assert_eq!(
            prose("the id `a<b>` is new").into_string(),
            "The id <code>a&lt;b&gt;</code> is new."
        );
        assert_eq!(prose("`x` of <i>").into_string(), "<code>x</code> of &lt;i&gt;.");
    }
}
