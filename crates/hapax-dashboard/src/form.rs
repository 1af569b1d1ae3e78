//! Renders forms.

use maud::{Markup, html};

use super::fields::CSRF_FIELD;
use super::viewer::Viewer;

/// A form that changes something. A viewer who may not send it sees it disabled, with the reason.
#[expect(clippy::needless_pass_by_value, reason = "a form gives its content away")]
pub(crate) fn form(viewer: &Viewer, action: &str, content: Markup) -> Markup {
    html! {
        form method="post" action=(action) {
            input type="hidden" name=(CSRF_FIELD) value=(viewer.csrf);
            @if viewer.may_send(action) {
                (content)
            } @else {
                fieldset class="disabled" disabled { (content) }
                p class="muted small" { "Your role or your sources do not allow this." }
            }
        }
    }
}
