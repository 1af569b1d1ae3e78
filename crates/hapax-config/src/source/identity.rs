//! `event_id`, `event_type` and `on_conflict`: what an event is known by.

use hapax_verify::{Field, FieldList, IdRule, IdentityRule, OnConflict, SetupError};
use toml::Value;

use crate::section::Section;
use crate::setting::{Key, words};

pub(super) static EVENT_ID: Key<Vec<String>> = Key::depends(
    "event_id",
    "the preset's",
    "Where the event id is: `header:NAME`, `body:/json/pointer`, `form:NAME`, `query:NAME`, `body-sha256`, or a list, whose values are combined. `none`: the provider has no ids, and nothing is a duplicate. Required with `verify`.",
)
.named("location or list");

pub(super) static EVENT_TYPE: Key<Vec<String>> = Key::depends(
    "event_type",
    "the preset's",
    "Where the event type is. The values of a list are joined by `.`.",
)
.named("location or list");

pub(super) static ON_CONFLICT: Key<OnConflict> = Key::depends(
    "on_conflict",
    "`keep`, or the provider's",
    "What to do with a known event id and a different body: `keep` (store it as a conflict; it is not delivered until you release it) or `accept` (accept it as a new event under `ID%conflict:HASH`, for providers that reuse ids; costs one more ledger lookup per new event).",
);

words!(OnConflict { Keep, Accept });

/// `none` is for providers without event ids: none of their events is a duplicate.
pub(super) fn read_event_id(section: &mut Section<'_, '_, '_>) -> Option<IdRule> {
    match section.text_or_texts(&EVENT_ID)?.as_slice() {
        [(_, text)] if text == "none" => Some(IdRule::NONE),
        _ => read_fields(section, &EVENT_ID).map(IdRule::from),
    }
}

pub(super) fn read_event_type(section: &mut Section<'_, '_, '_>) -> Option<FieldList> {
    read_fields(section, &EVENT_TYPE)
}

fn read_fields(section: &mut Section<'_, '_, '_>, key: &'static Key<Vec<String>>) -> Option<FieldList> {
    let mut fields: Vec<Field> = Vec::new();
    for (path, text) in section.text_or_texts(key)? {
        match text.parse() {
            Ok(field) => fields.push(field),
            Err(error) => {
                let error: SetupError = error;
                section.report.problem(&path, error);
                return None;
            }
        }
    }
    FieldList::new(fields)
        .map_err(|error| section.problem(key, error))
        .ok()
}

/// Shows the rule in effect, which may be the preset's.
pub(super) fn show(section: &mut Section<'_, '_, '_>, identity: &IdentityRule) {
    section.show(&EVENT_ID, id_rule(&identity.event_id));
    if let Some(event_type) = &identity.event_type {
        section.show(&EVENT_TYPE, fields(event_type));
    }
    section.show(&ON_CONFLICT, identity.on_conflict.as_str());
}

fn id_rule(rule: &IdRule) -> Value {
    let mut ways: Vec<Value> = rule.composites().iter().map(fields).collect();
    ways.extend(rule.allows_none().then(|| Value::from("none")));
    match ways.as_slice() {
        [only] => only.clone(),
        _ => Value::Array(ways),
    }
}

fn fields(list: &FieldList) -> Value {
    let fields: Vec<String> = list.fields().iter().map(ToString::to_string).collect();
    match fields.as_slice() {
        [field] => field.clone().into(),
        _ => fields.into(),
    }
}
