//! Times on pages: relative, with the exact time as a tooltip.

use hapax_api::readable;
use hapax_core::Timestamp;
use maud::{Markup, html};

/// A relative time.
pub(crate) fn moment(at: Timestamp, now: Timestamp) -> Markup {
    html! { time datetime=(at) title=(at) { (readable::ago(at, now)) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exact_time_is_in_the_markup() {
        let at = Timestamp::from_seconds(0);
        let text = moment(at, at).into_string();
        assert!(
            text.contains("datetime=\"1970-01-01T00:00:00.000000Z\""),
            "{text}"
        );
    }
}
