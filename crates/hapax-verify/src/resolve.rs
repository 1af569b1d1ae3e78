//! Turns a verified request into events, each with its id and type, by a rule that is compiled once.

use std::borrow::Cow;
use std::cell::OnceCell;

use crate::form::Form;
use crate::identity::{
    ChangingValues, Content, Extracted, Field, FieldList, IdRule, IdentityRule, Item, KnownItem, Pointer,
    Pointers, Splitter, UNIDENTIFIED, ValuePath, text,
};
use crate::limits::EVENT_TYPE_BYTES_MAX;
use crate::proof::{Prove, Proven};
use crate::rejection::{IdProblem, Rejection};
use crate::request::{Request, query_value};
use crate::setup::SetupError;
use crate::verification::{ContentHash, Envelope, EventBody, Identification};

/// A compiled identity rule.
#[derive(Debug)]
pub(crate) struct CompiledRule {
    ids: CompiledIds,
    earlier: Option<CompiledIds>,
    kind: Vec<CompiledField>,
    own: Pointers,
    root: Pointers,
    splitter: Option<Splitter>,
    changing: Option<ChangingValues>,
    rule: IdentityRule,
    id_is_signed: bool,
    reads_only_the_body: bool,
}

type CompiledField = Vec<CompiledPath>;

#[derive(Debug)]
struct CompiledIds {
    /// The composites, in the order in which they are tried.
    composites: Vec<Vec<CompiledField>>,
    or_none: bool,
}

#[derive(Debug)]
enum CompiledPath {
    Header(String),
    Query(String),
    Own(usize),
    Root(usize),
    Form(String),
    BodySha256,
    RequestSha256,
    Index,
    Present(Vec<(String, usize)>),
    Text(String),
    Flag(usize),
    Proof(String),
}

/// A body as far as it could be read. A parse error matters only if an id is inside the body.
#[expect(
    clippy::large_enum_variant,
    reason = "the large variant is the usual one and lives on the stack for one request"
)]
enum Reading<'body> {
    NotNeeded,
    Extracted(Extracted<'body>),
    Malformed(String),
}

/// One event and its request.
struct Subject<'a, 'r> {
    request: &'r Request<'a>,
    body: &'a [u8],
    index: Option<u32>,
    own: Reading<'a>,
    root: &'r Reading<'a>,
    facts: &'r [(&'static str, String)],
    changing: Option<&'r ChangingValues>,
    content: OnceCell<Content>,
}

impl Subject<'_, '_> {
    /// The event's content, hashed once.
    fn content(&self) -> Content {
        *self.content.get_or_init(|| {
            let read = match &self.own {
                Reading::Extracted(extracted) => Some(extracted),
                Reading::NotNeeded | Reading::Malformed(_) => None,
            };
            Content::of(self.request, self.body, read, self.changing)
        })
    }
}

/// The result of looking up one location.
enum Found<'a> {
    Text(Cow<'a, str>),
    NotUtf8,
    Missing,
    Malformed(String),
}

impl CompiledRule {
    pub(crate) fn new(rule: IdentityRule, proof: &dyn Prove) -> Result<Self, SetupError> {
        let (mut own, mut root) = (Pointers::default(), Pointers::default());
        let mut compile = |fields: &[Field]| -> Result<Vec<CompiledField>, SetupError> {
            fields
                .iter()
                .map(|field| {
                    let paths = field.paths().iter();
                    paths
                        .map(|path| compile_path(path, &mut own, &mut root))
                        .collect()
                })
                .collect()
        };
        let mut compile_ids = |rule: &IdRule| -> Result<CompiledIds, SetupError> {
            let composites = rule.composites().iter();
            Ok(CompiledIds {
                composites: composites
                    .map(|composite| compile(composite.fields()))
                    .collect::<Result<_, _>>()?,
                or_none: rule.allows_none(),
            })
        };
        let ids = compile_ids(&rule.event_id)?;
        let earlier = rule.earlier.as_ref().map(compile_ids).transpose()?;
        let kind = match &rule.event_type {
            Some(list) => compile(list.fields())?,
            None => Vec::new(),
        };
        let id_is_signed = rule.event_id.fields().all(|field| is_signed(field, proof));
        let reads_only_the_body = rule.split.is_none() && paths_of(&rule).all(is_in_body);
        Ok(CompiledRule {
            ids,
            earlier,
            kind,
            changing: ChangingValues::new(&rule.changing, &mut own)?,
            own,
            root,
            splitter: rule.split.as_ref().map(Splitter::new).transpose()?,
            id_is_signed,
            reads_only_the_body,
            rule,
        })
    }

    pub(crate) fn rule(&self) -> &IdentityRule {
        &self.rule
    }

    pub(crate) fn id_is_signed(&self) -> bool {
        self.id_is_signed
    }

    /// Whether a request is one event, and its id and type depend on nothing but the body. (The boundary of a multipart
    /// form is in a header.)
    pub(crate) fn reads_only_the_body(&self) -> bool {
        self.reads_only_the_body
    }

    /// The events of a verified request.
    pub(crate) fn events(&self, request: &Request<'_>, proven: &Proven) -> Result<Vec<Envelope>, Rejection> {
        let items = match &self.splitter {
            Some(splitter) => splitter.split(request)?,
            None => None,
        };
        let root = read(&self.root, request.body);
        let Some(items) = items else {
            let subject = self.subject(request, request.content(), None, &root, proven);
            return Ok(vec![self.whole(&subject, proven)?]);
        };
        let count = items.len();
        let mut events = Vec::with_capacity(count);
        for (index, item) in (0..).zip(items) {
            let body = request.body.get(item.own.clone()).unwrap_or_default();
            let subject = self.subject(request, body, Some(index), &root, proven);
            events.push(self.item(&subject, item, proven));
        }
        Ok(events)
    }

    fn subject<'a, 'r>(
        &'r self,
        request: &'r Request<'a>,
        body: &'a [u8],
        index: Option<u32>,
        root: &'r Reading<'a>,
        proven: &'r Proven,
    ) -> Subject<'a, 'r> {
        Subject {
            request,
            body,
            index,
            own: read(&self.own, body),
            root,
            facts: &proven.facts,
            changing: self.changing.as_ref(),
            content: OnceCell::new(),
        }
    }

    /// A request that is one event: without an id it is refused.
    fn whole(&self, subject: &Subject<'_, '_>, proven: &Proven) -> Result<Envelope, Rejection> {
        let id = identified(self.event_id(&self.ids, subject)?);
        let event_type = self.event_type(subject);
        Ok(self.envelope(subject, proven, id, event_type, EventBody::Whole))
    }

    /// One of several events: without an id it is quarantined, and the others are accepted.
    fn item(&self, subject: &Subject<'_, '_>, item: Item, proven: &Proven) -> Envelope {
        let (id, event_type) = match item.known {
            Some(KnownItem { id, event_type }) => (known_id(&id).map(Some), event_type.and_then(usable_type)),
            None => (self.event_id(&self.ids, subject), self.event_type(subject)),
        };
        let id = match id {
            Ok(id) => identified(id),
            Err(_) => (
                format!("{UNIDENTIFIED}{}", text::sha256_hex(subject.body)),
                Identification::Missing,
            ),
        };
        self.envelope(subject, proven, id, event_type, item.body)
    }

    fn envelope(
        &self,
        subject: &Subject<'_, '_>,
        proven: &Proven,
        (event_id, identification): (String, Identification),
        event_type: Option<String>,
        body: EventBody,
    ) -> Envelope {
        let content_hash = self.content_hash(subject, &body);
        Envelope {
            earlier_id: match identification {
                Identification::ByProvider => self.earlier_id(subject, &event_id),
                Identification::Never | Identification::Missing => None,
            },
            event_id,
            event_type,
            signed_at: proven.signed_at,
            transmission: proven.transmission.clone(),
            secret_index: proven.secret_index,
            id_is_signed: self.id_is_signed,
            identification,
            content_hash,
            raw_hash: match body {
                EventBody::Whole => subject.content.get().and_then(|content| content.raw_hash),
                EventBody::Part(_) | EventBody::Pieces(_) => None,
            },
            body,
            batch_index: subject.index,
        }
    }

    /// The id that the earlier rule gives the event, if it is different. `None` if it gives none: no event has arrived
    /// under it.
    fn earlier_id(&self, subject: &Subject<'_, '_>, event_id: &str) -> Option<String> {
        let earlier = self.event_id(self.earlier.as_ref()?, subject).ok()??;
        (earlier != event_id).then_some(earlier)
    }

    /// The text of the event id according to these composites; `None` if an event may have no id and has none.
    fn event_id(&self, ids: &CompiledIds, subject: &Subject<'_, '_>) -> Result<Option<String>, Rejection> {
        let (mut partial, mut fault) = (None, None);
        for composite in &ids.composites {
            let mut parts = Vec::with_capacity(composite.len());
            for field in composite {
                parts.push(match find(field, subject) {
                    Found::Text(part) if part.contains('\0') => return Err(self.invalid(IdProblem::Nul)),
                    Found::Text(part) => Some(part),
                    Found::Missing => None,
                    Found::NotUtf8 => return Err(self.invalid(IdProblem::NotUtf8)),
                    Found::Malformed(detail) => {
                        fault = Some(self.malformed(detail));
                        None
                    }
                });
            }
            if let [Some(only)] = parts.as_slice()
                && only.is_empty()
            {
                return Err(self.invalid(IdProblem::Empty));
            }
            let has_any = parts.iter().flatten().any(|part| !part.is_empty());
            if has_any && parts.iter().all(Option::is_some) {
                return Ok(Some(written(&parts)));
            }
            if has_any && partial.is_none() {
                partial = Some(written(&parts));
            }
        }
        if ids.or_none {
            return Ok(None);
        }
        match (fault, partial) {
            (Some(fault), _) => Err(fault),
            (None, Some(partial)) => Ok(Some(partial)),
            (None, None) => Err(self.missing()),
        }
    }

    /// The event's type, if it has one. An event is never refused because of its type.
    fn event_type(&self, subject: &Subject<'_, '_>) -> Option<String> {
        let mut joined = String::new();
        for field in &self.kind {
            if let Found::Text(part) = find(field, subject) {
                if part.is_empty() {
                    continue;
                }
                if !joined.is_empty() {
                    joined.push('.');
                }
                joined.push_str(&part);
            }
        }
        usable_type(joined)
    }

    /// The content hash of an event, if it differs from the hash of the delivered body.
    fn content_hash(&self, subject: &Subject<'_, '_>, body: &EventBody) -> Option<ContentHash> {
        let rule = match (&self.changing, body) {
            (Some(changing), _) => subject.content().is_reduced.then(|| changing.rule())?,
            (None, EventBody::Pieces(_)) => "item",
            (None, EventBody::Whole | EventBody::Part(_)) => return None,
        };
        Some(ContentHash {
            rule: rule.to_owned(),
            hash: subject.content().hash,
        })
    }

    fn malformed(&self, detail: String) -> Rejection {
        Rejection::MalformedBody {
            looked_in: self.rule.event_id.to_string(),
            detail,
        }
    }

    fn missing(&self) -> Rejection {
        Rejection::EventIdMissing {
            looked_in: self.rule.event_id.to_string(),
        }
    }

    fn invalid(&self, problem: IdProblem) -> Rejection {
        Rejection::EventIdInvalid {
            path: self.rule.event_id.to_string(),
            problem,
        }
    }
}

fn compile_path(
    path: &ValuePath,
    own: &mut Pointers,
    root: &mut Pointers,
) -> Result<CompiledPath, SetupError> {
    Ok(match path {
        ValuePath::Header(name) => CompiledPath::Header(name.clone()),
        ValuePath::Query(name) => CompiledPath::Query(name.clone()),
        ValuePath::Body(pointer) => CompiledPath::Own(own.add(pointer)?),
        ValuePath::Form(name) => CompiledPath::Form(name.clone()),
        ValuePath::BodySha256 => CompiledPath::BodySha256,
        ValuePath::Request(pointer) => CompiledPath::Root(root.add(pointer)?),
        ValuePath::RequestSha256 => CompiledPath::RequestSha256,
        ValuePath::Index => CompiledPath::Index,
        ValuePath::Present(keys) => {
            let slot = |key: &String| Ok((key.clone(), own.add(&Pointer::of_key(key))?));
            CompiledPath::Present(keys.iter().map(slot).collect::<Result<_, SetupError>>()?)
        }
        ValuePath::Text(text) => CompiledPath::Text(text.clone()),
        ValuePath::Flag(pointer) => CompiledPath::Flag(own.add(pointer)?),
        ValuePath::Proof(name) => CompiledPath::Proof(name.clone()),
    })
}

/// Reads the values of the pointers, in one pass.
fn read<'body>(pointers: &Pointers, body: &'body [u8]) -> Reading<'body> {
    if pointers.is_empty() {
        return Reading::NotNeeded;
    }
    match pointers.extract(body) {
        Ok(extracted) => Reading::Extracted(extracted),
        Err(error) => Reading::Malformed(error.to_string()),
    }
}

/// The first location that contains anything counts, even if its value is unusable: a client must not be able to select
/// another location by corrupting the first. A body that is not JSON may still be a form.
fn find<'a>(field: &'a CompiledField, subject: &Subject<'a, '_>) -> Found<'a> {
    let mut nothing = Found::Missing;
    for path in field {
        match look(path, subject) {
            Found::Missing => {}
            found @ (Found::Text(_) | Found::NotUtf8) => return found,
            Found::Malformed(detail) => nothing = Found::Malformed(detail),
        }
    }
    nothing
}

fn look<'a>(path: &'a CompiledPath, subject: &Subject<'a, '_>) -> Found<'a> {
    let owned = |text: Option<String>| text.map_or(Found::Missing, |text| Found::Text(Cow::Owned(text)));
    match path {
        CompiledPath::Header(name) => match subject.request.headers.get(name) {
            None => Found::Missing,
            Some(value) => match std::str::from_utf8(value) {
                Ok(value) => Found::Text(Cow::Borrowed(value)),
                Err(_) => Found::NotUtf8,
            },
        },
        CompiledPath::Query(name) => owned(query_value(subject.request.query, name)),
        CompiledPath::Own(slot) => scalar(&subject.own, *slot),
        CompiledPath::Root(slot) => scalar(subject.root, *slot),
        // A body that is not a form has no such value, and the next location is tried.
        CompiledPath::Form(name) => owned(Form::new(subject.request.headers, subject.body).value(name)),
        CompiledPath::BodySha256 => owned(Some(hex::encode(subject.content().hash))),
        CompiledPath::RequestSha256 => owned(Some(text::sha256_hex(subject.request.body))),
        CompiledPath::Index => owned(subject.index.map(|index| index.to_string())),
        CompiledPath::Present(keys) => match &subject.own {
            Reading::Extracted(extracted) => {
                let mut keys = keys.iter();
                let found = keys.find(|(_, slot)| extracted.raw(*slot).is_some());
                found.map_or(Found::Missing, |(key, _)| Found::Text(Cow::Borrowed(key)))
            }
            Reading::NotNeeded | Reading::Malformed(_) => Found::Missing,
        },
        CompiledPath::Text(text) => Found::Text(Cow::Borrowed(text)),
        CompiledPath::Flag(slot) => flag(&subject.own, *slot),
        CompiledPath::Proof(name) => {
            let fact = subject.facts.iter().find(|(known, _)| known == name);
            owned(fact.map(|(_, value)| value.clone()))
        }
    }
}

/// A scalar, or `true` or `false` as written.
fn flag<'a>(reading: &Reading<'a>, slot: usize) -> Found<'a> {
    match reading {
        Reading::Extracted(extracted) => match extracted.raw(slot) {
            Some(word @ ("true" | "false")) => Found::Text(Cow::Borrowed(word)),
            Some(_) | None => scalar(reading, slot),
        },
        Reading::NotNeeded | Reading::Malformed(_) => scalar(reading, slot),
    }
}

fn scalar<'a>(reading: &Reading<'a>, slot: usize) -> Found<'a> {
    match reading {
        Reading::NotNeeded => Found::Missing,
        Reading::Malformed(detail) => Found::Malformed(detail.clone()),
        Reading::Extracted(extracted) => match extracted.scalar(slot) {
            Ok(Some(value)) => Found::Text(value),
            Ok(None) => Found::Missing,
            Err(error) => Found::Malformed(error.to_string()),
        },
    }
}

fn identified(id: Option<String>) -> (String, Identification) {
    match id {
        Some(id) => (id, Identification::ByProvider),
        None => (String::new(), Identification::Never),
    }
}

fn written(parts: &[Option<Cow<'_, str>>]) -> String {
    match parts {
        [Some(only)] => text::single(only),
        _ => text::composite(parts),
    }
}

fn usable_type(text: String) -> Option<String> {
    let usable =
        !text.is_empty() && text.len() <= EVENT_TYPE_BYTES_MAX && !text.chars().any(char::is_control);
    usable.then_some(text)
}

fn known_id(parts: &[Option<String>]) -> Result<String, Rejection> {
    let parts: Vec<Option<Cow<'_, str>>> = parts
        .iter()
        .map(|part| part.as_deref().map(Cow::Borrowed))
        .collect();
    if parts.iter().flatten().all(|part| part.is_empty()) {
        return Err(Rejection::EventIdMissing {
            looked_in: "the item".to_owned(),
        });
    }
    Ok(written(&parts))
}

/// Every location that an id or a type may come from.
fn paths_of(rule: &IdentityRule) -> impl Iterator<Item = &ValuePath> {
    let ids = rule
        .event_id
        .fields()
        .chain(rule.earlier.iter().flat_map(IdRule::fields));
    let kinds = rule.event_type.iter().flat_map(FieldList::fields);
    ids.chain(kinds).flat_map(Field::paths)
}

/// Whether a value is in the body of a request that is one event.
fn is_in_body(path: &ValuePath) -> bool {
    match path {
        ValuePath::Body(_)
        | ValuePath::BodySha256
        | ValuePath::Request(_)
        | ValuePath::RequestSha256
        | ValuePath::Present(_)
        | ValuePath::Flag(_)
        | ValuePath::Text(_) => true,
        ValuePath::Header(_)
        | ValuePath::Query(_)
        | ValuePath::Form(_)
        | ValuePath::Index
        | ValuePath::Proof(_) => false,
    }
}

/// Whether the proof covers every location that the id may come from.
fn is_signed(field: &Field, proof: &dyn Prove) -> bool {
    let header = |path: &ValuePath| match path {
        ValuePath::Header(name) => Some(name.clone()),
        _ => None,
    };
    let headers: Option<Vec<String>> = field.paths().iter().map(header).collect();
    match headers {
        Some(headers) => proof.covers_first_of(&headers),
        None => field.paths().iter().all(|path| proof.covers(path)),
    }
}
