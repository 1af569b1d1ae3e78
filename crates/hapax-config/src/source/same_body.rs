//! `same_body`: how to treat a known body under a new id, for providers that do not sign the id.

use hapax_engine::SameBody;
use hapax_verify::{IdClass, Verifier};

use crate::section::Section;

pub(super) fn read(section: &mut Section<'_, '_, '_>, class: IdClass, verifier: &Verifier) -> SameBody {
    if section.choice("same_body", &["flag", "hold"]) != Some("hold") {
        return SameBody::Flag;
    }
    let useless = if class == IdClass::NotDeduplicated {
        Some(
            "every request of this sender is an event of its own, and two may well have the same body; remove it, or name \
             the sender's id in `event_id`",
        )
    } else if verifier.id_is_signed() {
        Some(
            "the signature of this sender covers the event id, so nobody can send its body under another; remove it",
        )
    } else {
        None
    };
    if let Some(why) = useless {
        section.problem("same_body", why);
    }
    SameBody::Hold
}
