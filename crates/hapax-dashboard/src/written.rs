//! The effective configuration of a source or destination, with the origin of each value. Secrets are redacted.

use maud::{Markup, html};

use hapax_admin::Settings;

/// The section with this path, such as `sources.shop`; nothing if the configuration does not have it.
pub(crate) fn written(settings: &Settings, path: &str) -> Markup {
    html! {
        @if let Some(lines) = settings.written.get(path) {
            details {
                summary { "Effective configuration" }
                pre class="small" tabindex="0" aria-label={ "Configuration of " (path) } { "[" (path) "]\n" (lines) }
            }
        }
    }
}
