//! `same_body`: how to treat a known body under a new id, for providers that do not sign the id.

use hapax_engine::SameBody;
use hapax_verify::{IdClass, Verifier};

use crate::section::Section;
use crate::setting::{Key, words};

pub(super) static SAME_BODY: Key<SameBody> = Key::with_default(
    "same_body",
    "flag",
    "What to do with a known body under a new event id, if the provider does not sign the id: `flag` (deliver the event, and flag it) or `hold` (store the event and answer it, but deliver it only after it is released with `hapax replay ID --mode held`). guides/same-body.md says when to use which.",
);

words!(SameBody { Flag, Hold });

pub(super) fn read(section: &mut Section<'_, '_, '_>, class: IdClass, verifier: &Verifier) -> SameBody {
    if section.get(&SAME_BODY) == SameBody::Flag {
        return SameBody::Flag;
    }
    let useless = if class == IdClass::NotDeduplicated {
        Some(
            "every request of this source is a separate event, and two may well have the same body; remove it, or set \
             the location of the provider's id in `event_id`",
        )
    } else if verifier.id_is_signed() {
        Some(
            "the provider's signature covers the event id, so its body cannot be sent under another id; remove it",
        )
    } else {
        None
    };
    if let Some(why) = useless {
        section.problem(&SAME_BODY, why);
    }
    SameBody::Hold
}
