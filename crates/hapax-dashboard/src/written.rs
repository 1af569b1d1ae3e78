//! The effective configuration of a source or destination, with where each value comes from. Secrets are hidden.

use maud::{Markup, html};

use hapax_admin::Settings;

/// The section of this path, such as `sources.shop`; nothing where the configuration has none.
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
