//! A single walk through a body, from the outermost array to the events.

use std::ops::Range;

use aws_lc_rs::digest::{Context, SHA256};

use super::tree::{Level, Rule, Value};
use crate::identity::extract::{Extracted, range_of};
use crate::identity::item::{Item, KnownItem, elements};
use crate::limits::{BATCH_BYTES_MAX, BATCH_EVENTS_MAX};
use crate::verification::EventBody;

/// The state of the walk.
pub(super) struct Walk<'body> {
    body: &'body [u8],
    /// The values read from each element between the body and the current one.
    frames: Vec<Extracted<'body>>,
    /// The range of the outermost element.
    outermost: Range<usize>,
    /// The ranges to leave out for the current element.
    cuts: Vec<Range<usize>>,
    items: Vec<Item>,
    bytes: usize,
}

impl<'body> Walk<'body> {
    pub(super) fn new(body: &'body [u8]) -> Self {
        Walk {
            body,
            frames: Vec::new(),
            outermost: 0..body.len(),
            cuts: Vec::new(),
            items: Vec::new(),
            bytes: 0,
        }
    }

    /// The events, or what is wrong with the body.
    pub(super) fn run(mut self, root: &Level, text: &'body str) -> Result<Vec<Item>, String> {
        if self.enter(root, text)? == 0 {
            return Err("there is no array of events".to_owned());
        }
        Ok(self.items)
    }

    /// Walks through one element; returns the number of its arrays.
    fn enter(&mut self, level: &Level, element: &'body str) -> Result<usize, String> {
        let extracted = level.pointers.extract(element.as_bytes());
        let extracted = extracted.map_err(|error| error.to_string())?;
        let is_array = |raw: &&str| raw.starts_with('[');
        let arrays: Vec<(&Level, &'body str)> = level
            .arrays
            .iter()
            .filter_map(|array| Some((&array.elements, extracted.raw(array.slot).filter(is_array)?)))
            .collect();
        self.frames.push(extracted);
        let found_before = self.items.len();
        for (index, (inner, array)) in arrays.iter().enumerate() {
            let mark = self.cuts.len();
            let others = arrays.iter().enumerate().filter(|(other, _)| *other != index);
            self.cuts
                .extend(others.map(|(_, (_, other))| inside(range_of(other, self.body))));
            self.enter_each(inner, array)?;
            self.cuts.truncate(mark);
        }
        if let Some(rule) = level.rule.as_ref().filter(|_| self.items.len() == found_before) {
            self.add(rule, element)?;
        }
        self.frames.pop();
        Ok(arrays.len())
    }

    fn enter_each(&mut self, level: &Level, array: &'body str) -> Result<(), String> {
        let room = inside(range_of(array, self.body));
        for element in elements(array).map_err(|error| error.to_string())? {
            let own = range_of(element, self.body);
            if self.frames.len() == 1 {
                self.outermost = own.clone();
            }
            let mark = self.cuts.len();
            self.cuts.extend([room.start..own.start, own.end..room.end]);
            self.enter(level, element)?;
            self.cuts.truncate(mark);
        }
        Ok(())
    }

    fn add(&mut self, rule: &Rule, element: &str) -> Result<(), String> {
        let pieces = pieces(&self.cuts, 0..self.body.len());
        self.bytes += pieces.iter().map(Range::len).sum::<usize>();
        if self.items.len() == BATCH_EVENTS_MAX || self.bytes > BATCH_BYTES_MAX {
            return Err(format!(
                "it has more than {BATCH_EVENTS_MAX} events, or more than {BATCH_BYTES_MAX} bytes once each stands alone"
            ));
        }
        self.items.push(Item {
            own: range_of(element, self.body),
            body: EventBody::Pieces(pieces),
            known: Some(KnownItem {
                id: self.id(rule),
                event_type: self.event_type(rule),
            }),
        });
        Ok(())
    }

    /// The parts of the id; none if a part is not usable.
    fn id(&self, rule: &Rule) -> Vec<Option<String>> {
        let whole = |composite: &Vec<Value>| -> Option<Vec<String>> {
            composite.iter().map(|value| self.value(*value)).collect()
        };
        match rule.ids.iter().find_map(whole) {
            Some(parts) if parts.iter().any(|part| part.contains('\0')) => Vec::new(),
            Some(parts) => parts.into_iter().map(Some).collect(),
            None => vec![Some(self.hash_alone())],
        }
    }

    fn event_type(&self, rule: &Rule) -> Option<String> {
        let parts: Vec<String> = rule.kind.iter().filter_map(|value| self.value(*value)).collect();
        if parts.is_empty() {
            return rule.text.clone();
        }
        Some(parts.join("."))
    }

    /// A non-empty string or number.
    fn value(&self, value: Value) -> Option<String> {
        let found = self.frames.get(value.depth)?.scalar(value.slot).ok()??;
        (!found.is_empty()).then(|| found.into_owned())
    }

    /// The hash of the outermost element as it would be with this event alone, independent of the other events.
    fn hash_alone(&self) -> String {
        let mut context = Context::new(&SHA256);
        for piece in pieces(&self.cuts, self.outermost.clone()) {
            context.update(self.body.get(piece).unwrap_or_default());
        }
        hex::encode(context.finish())
    }
}

/// The range between an array's brackets.
fn inside(array: Range<usize>) -> Range<usize> {
    array.start + 1..array.end.saturating_sub(1)
}

/// The remaining ranges of `whole` without the cuts.
fn pieces(cuts: &[Range<usize>], whole: Range<usize>) -> Vec<Range<usize>> {
    let mut cuts: Vec<&Range<usize>> = cuts.iter().filter(|cut| !cut.is_empty()).collect();
    cuts.sort_unstable_by_key(|cut| cut.start);
    let mut pieces = Vec::with_capacity(cuts.len() + 1);
    let mut from = whole.start;
    for cut in cuts {
        if cut.start > from && cut.start <= whole.end {
            pieces.push(from..cut.start);
        }
        from = from.max(cut.end);
    }
    if from < whole.end {
        pieces.push(from..whole.end);
    }
    pieces
}
