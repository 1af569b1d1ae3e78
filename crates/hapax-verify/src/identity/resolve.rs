//! From a verified request to its id and type, by a rule compiled once.

use std::borrow::Cow;

use super::{Extracted, Field, FieldList, IdentityRule, Place, Pointers, text};
use crate::limits::EVENT_TYPE_BYTES_MAX;
use crate::scheme::Part;
use crate::{IdProblem, Rejection, Request, Scheme, SetupError};

/// An identity rule, ready for use.
#[derive(Debug)]
pub(crate) struct CompiledRule {
    id: Vec<CompiledField>,
    kind: Vec<CompiledField>,
    pointers: Pointers,
    rule: IdentityRule,
    id_is_signed: bool,
}

type CompiledField = Vec<CompiledPlace>;

#[derive(Debug)]
enum CompiledPlace {
    Header(String),
    Slot(usize),
    BodySha256,
}

/// The body as far as it could be read. A fault matters only where an id is inside the body.
#[expect(
    clippy::large_enum_variant,
    reason = "the large variant is the usual one and lives on the stack for one request"
)]
pub(crate) enum Reading<'body> {
    NotNeeded,
    Extracted(Extracted<'body>),
    Malformed(String),
}

/// What one place holds.
enum Found<'a> {
    Text(Cow<'a, str>),
    NotUtf8,
    Missing,
    Malformed(String),
}

impl CompiledRule {
    pub(crate) fn new(rule: IdentityRule, scheme: &Scheme) -> Result<Self, SetupError> {
        let mut pointers = Pointers::default();
        let id = compile(rule.event_id.fields(), &mut pointers)?;
        let kind = match &rule.event_type {
            Some(list) => compile(list.fields(), &mut pointers)?,
            None => Vec::new(),
        };
        let id_is_signed = is_signed(&rule.event_id, scheme);
        Ok(CompiledRule {
            id,
            kind,
            pointers,
            rule,
            id_is_signed,
        })
    }

    pub(crate) fn id_is_signed(&self) -> bool {
        self.id_is_signed
    }

    /// Reads what the rule needs out of the body, in one pass.
    pub(crate) fn read<'body>(&self, body: &'body [u8]) -> Reading<'body> {
        if self.pointers.is_empty() {
            return Reading::NotNeeded;
        }
        match self.pointers.extract(body) {
            Ok(extracted) => Reading::Extracted(extracted),
            Err(error) => Reading::Malformed(error.to_string()),
        }
    }

    /// The text of the event id.
    pub(crate) fn event_id(&self, request: &Request<'_>, reading: &Reading<'_>) -> Result<String, Rejection> {
        if let [field] = self.id.as_slice() {
            let part = self.id_part(field, request, reading)?;
            let id = part.ok_or_else(|| self.missing())?;
            if id.is_empty() {
                return Err(self.invalid(IdProblem::Empty));
            }
            return Ok(text::single(&id));
        }
        let parts = self
            .id
            .iter()
            .map(|field| self.id_part(field, request, reading))
            .collect::<Result<Vec<_>, _>>()?;
        if parts.iter().flatten().all(|part| part.is_empty()) {
            return Err(self.missing());
        }
        Ok(text::composite(&parts))
    }

    /// The event's type, if it has one. Nothing about a type ever refuses an event.
    pub(crate) fn event_type(&self, request: &Request<'_>, reading: &Reading<'_>) -> Option<String> {
        let mut joined = String::new();
        for field in &self.kind {
            if let Found::Text(part) = find(field, request, reading) {
                if part.is_empty() {
                    continue;
                }
                if !joined.is_empty() {
                    joined.push('.');
                }
                joined.push_str(&part);
            }
        }
        let usable = !joined.is_empty()
            && joined.len() <= EVENT_TYPE_BYTES_MAX
            && !joined.chars().any(char::is_control);
        usable.then_some(joined)
    }

    fn id_part<'a>(
        &self,
        field: &CompiledField,
        request: &Request<'a>,
        reading: &Reading<'a>,
    ) -> Result<Option<Cow<'a, str>>, Rejection> {
        match find(field, request, reading) {
            Found::Text(part) if part.contains('\0') => Err(self.invalid(IdProblem::Nul)),
            Found::Text(part) => Ok(Some(part)),
            Found::Missing => Ok(None),
            Found::NotUtf8 => Err(self.invalid(IdProblem::NotUtf8)),
            Found::Malformed(detail) => Err(Rejection::MalformedBody {
                looked_in: self.rule.event_id.to_string(),
                detail,
            }),
        }
    }

    fn missing(&self) -> Rejection {
        Rejection::EventIdMissing {
            looked_in: self.rule.event_id.to_string(),
        }
    }

    fn invalid(&self, problem: IdProblem) -> Rejection {
        Rejection::EventIdInvalid {
            place: self.rule.event_id.to_string(),
            problem,
        }
    }
}

fn compile(fields: &[Field], pointers: &mut Pointers) -> Result<Vec<CompiledField>, SetupError> {
    let mut compiled_place = |place: &Place| {
        Ok(match place {
            Place::Header(name) => CompiledPlace::Header(name.clone()),
            Place::Body(pointer) => CompiledPlace::Slot(pointers.add(pointer)?),
            Place::BodySha256 => CompiledPlace::BodySha256,
        })
    };
    fields
        .iter()
        .map(|field| field.places().iter().map(&mut compiled_place).collect())
        .collect()
}

/// The first place that holds anything counts, even if what it holds is no good: a sender must not be able to choose
/// another place by spoiling the first.
fn find<'a>(field: &CompiledField, request: &Request<'a>, reading: &Reading<'a>) -> Found<'a> {
    for place in field {
        let found = match place {
            CompiledPlace::Header(name) => match request.headers.get(name) {
                None => Found::Missing,
                Some(value) => match std::str::from_utf8(value) {
                    Ok(value) => Found::Text(Cow::Borrowed(value)),
                    Err(_) => Found::NotUtf8,
                },
            },
            CompiledPlace::Slot(slot) => match reading {
                Reading::NotNeeded => Found::Missing,
                Reading::Malformed(detail) => Found::Malformed(detail.clone()),
                Reading::Extracted(extracted) => match extracted.scalar(*slot) {
                    Ok(Some(value)) => Found::Text(value),
                    Ok(None) => Found::Missing,
                    Err(error) => Found::Malformed(error.to_string()),
                },
            },
            CompiledPlace::BodySha256 => Found::Text(Cow::Owned(text::sha256_hex(request.body))),
        };
        match found {
            Found::Missing => {}
            Found::Text(_) | Found::NotUtf8 | Found::Malformed(_) => return found,
        }
    }
    Found::Missing
}

/// Whether the signature covers whatever place the id comes from.
fn is_signed(id: &FieldList, scheme: &Scheme) -> bool {
    let covered = |place: &Place| match place {
        Place::Header(name) => scheme.signed.covers_header(name),
        Place::Body(_) | Place::BodySha256 => scheme.signed.covers_body(),
    };
    let header = |place: &Place| match place {
        Place::Header(name) => Some(name.clone()),
        Place::Body(_) | Place::BodySha256 => None,
    };
    // `{id}` covers the first of its headers that is present, so the id must look in the same ones in the same order.
    let is_signed_id = |field: &Field| {
        let names: Option<Vec<String>> = field.places().iter().map(header).collect();
        scheme.signed.parts().contains(&Part::Id) && names.as_ref() == Some(&scheme.id_headers)
    };
    id.fields()
        .iter()
        .all(|field| is_signed_id(field) || field.places().iter().all(covered))
}
