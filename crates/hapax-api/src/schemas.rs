//! OpenAPI schemas for types of the core crate, which knows nothing of HTTP.

use hapax_core::store::TimeRange;
use hapax_core::{ErrorClass, EventStatus, IdOrigin};
use utoipa::openapi::schema::{AnyOfBuilder, ArrayBuilder, KnownFormat, SchemaFormat, SchemaType, Type};
use utoipa::openapi::{Object, ObjectBuilder, RefOr, Schema};

use crate::query::{BODY_TERMS_MAX, QUERY_BYTES_MAX};

/// The format of a string in the query language.
pub(crate) const QUERY_FORMAT: &str = "hapax-query";

/// Describes the replay modes.
const MODE: &str = "Which deliveries are requeued: `failed` requeues dead and discarded ones; `all` also completed \
                    ones, under the same keys; `force` all of them under new keys, so that they take effect again; \
                    `held` releases deliveries that are held because their body arrived before under another id, which \
                    no other mode releases.";

/// The processing status of an event.
pub fn event_status() -> Object {
    choice(
        "The processing status of the event.",
        Null::No,
        EventStatus::ALL.map(EventStatus::as_str),
    )
}

/// The origin of an event's id.
pub(crate) fn id_origin() -> Object {
    choice(
        "The origin of the id: assigned by the provider (`sender`); `generated` by Hapax, so the event is not \
         deduplicated; `missing`, so the event is quarantined; or an accepted `conflict`, whose id is made of the \
         known id and the new content.",
        Null::No,
        IdOrigin::ALL.map(IdOrigin::as_str),
    )
}

pub fn error_class() -> Object {
    choice(
        "The error of a dead delivery.",
        Null::No,
        ErrorClass::ALL.map(ErrorClass::as_str),
    )
}

/// The time range of a chart.
pub fn span() -> Object {
    choice("The time range.", Null::No, TimeRange::ALL.map(TimeRange::as_str))
}

/// Which deliveries a replay requeues.
pub(crate) fn replay_mode() -> Object {
    choice(MODE, Null::No, ["failed", "all", "force", "held"])
}

/// The replay mode where it is optional.
pub fn replay_mode_or_null() -> Object {
    choice(MODE, Null::Yes, ["failed", "all", "force", "held"])
}

/// The state of a bulk replay.
pub(crate) fn replay_state() -> Object {
    choice(
        "The state of the replay.",
        Null::No,
        ["running", "done", "cancelled"],
    )
}

/// A string in the query language.
pub fn query_text() -> Object {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .format(Some(SchemaFormat::Custom(QUERY_FORMAT.to_owned())))
        .description(Some(
            "A query in the query language. Other parameters must match, too.",
        ))
        .max_length(Some(QUERY_BYTES_MAX))
        .examples(["source:stripe type:invoice.* status:dead since:2h"])
        .build()
}

/// A query as a string or as an object.
pub fn which() -> RefOr<Schema> {
    // An empty query is refused: it would match every event.
    let fields = ObjectBuilder::from(event_query()).min_properties(Some(1));
    let both = AnyOfBuilder::new()
        .description(Some(
            "The events to select: a string in the query language, or the same query as an object.",
        ))
        .item(query_text())
        .item(fields);
    RefOr::T(Schema::AnyOf(both.build()))
}

/// A query as an object, with the keys of the query language.
pub(crate) fn event_query() -> Object {
    let text = || nullable(Type::String);
    let moment = || {
        ObjectBuilder::from(nullable(Type::String))
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
            .build()
    };
    ObjectBuilder::new()
        .description(Some("A query as an object. Every given field must match."))
        .property("source", text())
        .property(
            "status",
            choice(
                "The processing status of the event.",
                Null::Yes,
                EventStatus::ALL.map(EventStatus::as_str),
            ),
        )
        .property("type", text())
        .property("event_id", text())
        .property("to", text())
        .property(
            "error",
            choice(
                "The error of a dead delivery.",
                Null::Yes,
                ErrorClass::ALL.map(ErrorClass::as_str),
            ),
        )
        .property("duplicates", duplicates())
        .property(
            "has",
            choice("Only events that have a conflict.", Null::Yes, ["conflict"]),
        )
        .property(
            "body",
            ArrayBuilder::new()
                .items(body_term())
                .max_items(Some(BODY_TERMS_MAX)),
        )
        .property("since", moment())
        .property("until", moment())
        .additional_properties(Some(utoipa::openapi::schema::AdditionalProperties::FreeForm(
            false,
        )))
        .build()
}

fn duplicates() -> Object {
    let number = |schema_type| {
        ObjectBuilder::new()
            .schema_type(schema_type)
            .minimum(Some(0))
            .build()
    };
    ObjectBuilder::from(nullable(Type::Object))
        .property("min", number(SchemaType::from(Type::Integer)))
        .property("max", number(or_null(Type::Integer)))
        .required("min")
        .additional_properties(Some(utoipa::openapi::schema::AdditionalProperties::FreeForm(
            false,
        )))
        .build()
}

fn body_term() -> Object {
    let pointer = ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some("^(/([^~/]|~[01])*)+$"))
        .max_length(Some(hapax_core::json_pointer::POINTER_BYTES_MAX));
    ObjectBuilder::new()
        .property("pointer", pointer)
        .property("value", ObjectBuilder::new().schema_type(Type::String))
        .required("pointer")
        .required("value")
        .additional_properties(Some(utoipa::openapi::schema::AdditionalProperties::FreeForm(
            false,
        )))
        .build()
}

/// Whether `null` is accepted, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Null {
    Yes,
    No,
}

fn choice<const N: usize>(about: &str, null: Null, names: [&'static str; N]) -> Object {
    let mut values: Vec<serde_json::Value> = names.into_iter().map(Into::into).collect();
    let schema_type = match null {
        Null::No => SchemaType::from(Type::String),
        Null::Yes => {
            values.push(serde_json::Value::Null);
            or_null(Type::String)
        }
    };
    ObjectBuilder::new()
        .description(Some(about))
        .schema_type(schema_type)
        .enum_values(Some(values))
        .build()
}

fn nullable(schema_type: Type) -> Object {
    ObjectBuilder::new().schema_type(or_null(schema_type)).build()
}

fn or_null(schema_type: Type) -> SchemaType {
    SchemaType::from_iter([schema_type, Type::Null])
}
