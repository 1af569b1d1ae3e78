//! The locations of nested events as a tree: one level for each depth of arrays.

use super::NestedEvents;
use crate::identity::pattern::Pattern;
use crate::identity::{Pointer, Pointers};
use crate::setup::{FieldProblem, SetupError};

/// What is read from the elements at one depth; the first is the body itself.
#[derive(Debug, Default)]
pub(super) struct Level {
    /// Everything that is read at this level, in one pass.
    pub(super) pointers: Pointers,
    /// The arrays that contain the elements of the next depth.
    pub(super) arrays: Vec<Array>,
    /// How an element without further events is identified, if it is an event.
    pub(super) rule: Option<Rule>,
}

/// An array of elements.
#[derive(Debug)]
pub(super) struct Array {
    pub(super) slot: usize,
    pub(super) elements: Level,
    place: Pointer,
}

/// How an event is identified.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) ids: Vec<Vec<Value>>,
    pub(super) kind: Vec<Value>,
    pub(super) text: Option<String>,
}

/// A value of the event or of one of the elements that contain it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Value {
    pub(super) depth: usize,
    pub(super) slot: usize,
}

impl Level {
    pub(super) fn new(events: &[NestedEvents]) -> Result<Self, SetupError> {
        let mut root = Level::default();
        for kind in events {
            let arrays = kind.at.arrays();
            let mut composites = Vec::with_capacity(kind.event_id.len());
            for composite in &kind.event_id {
                composites.push(root.add_all(arrays, composite)?);
            }
            let rule = Rule {
                ids: composites,
                kind: root.add_all(arrays, &kind.event_type)?,
                text: kind.type_text.clone(),
            };
            root.at(arrays)?.rule = Some(rule);
        }
        Ok(root)
    }

    fn add_all(&mut self, arrays: &[Pointer], patterns: &[Pattern]) -> Result<Vec<Value>, SetupError> {
        patterns
            .iter()
            .map(|pattern| self.add_value(arrays, pattern))
            .collect()
    }

    /// A value must be inside the event or an element that contains it.
    fn add_value(&mut self, arrays: &[Pointer], pattern: &Pattern) -> Result<Value, SetupError> {
        if !arrays.starts_with(pattern.arrays()) {
            return Err(SetupError::Field {
                text: pattern.to_string(),
                problem: FieldProblem::Pointer,
            });
        }
        let slot = self.at(pattern.arrays())?.pointers.add(pattern.rest())?;
        Ok(Value {
            depth: pattern.arrays().len(),
            slot,
        })
    }

    /// The level reached through these arrays.
    fn at(&mut self, arrays: &[Pointer]) -> Result<&mut Level, SetupError> {
        let Some((first, rest)) = arrays.split_first() else {
            return Ok(self);
        };
        let slot = self.pointers.add(first)?;
        let known = self.arrays.iter().position(|array| array.place == *first);
        let index = known.unwrap_or(self.arrays.len());
        if known.is_none() {
            self.arrays.push(Array {
                slot,
                elements: Level::default(),
                place: first.clone(),
            });
        }
        self.arrays[index].elements.at(rest)
    }
}
