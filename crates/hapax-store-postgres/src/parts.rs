//! Writing many items in few transactions, each with as many items as one message to the server should hold. If an item
//! can never be written, halves are tried until it is alone.

use std::ops::Range;
use std::sync::Arc;

use hapax_core::store::Error;

use crate::failure::{Failure, Remedy};

/// Payload bytes written in one transaction: they must arrive before the server considers the session idle.
pub(crate) const PART_BYTES_MAX: usize = 16 << 20;

/// Items, with the answers for those that were refused before anything was sent.
pub(crate) struct Parts<I, O> {
    items: Arc<Vec<I>>,
    answers: Vec<Option<Result<O, Error>>>,
    bytes: fn(&I) -> usize,
}

/// Neighbouring items that are written together.
pub(crate) struct Part<I> {
    items: Arc<Vec<I>>,
    range: Range<usize>,
}

impl<I> Part<I> {
    pub(crate) fn items(&self) -> &[I] {
        &self.items[self.range.clone()]
    }
}

impl<I, O> Parts<I, O> {
    /// `refused` has one element per item.
    pub(crate) fn new(items: Vec<I>, refused: Vec<Option<Result<O, Error>>>, bytes: fn(&I) -> usize) -> Self {
        Self {
            items: Arc::new(items),
            answers: refused,
            bytes,
        }
    }

    /// Writes all items. Returns one answer per item, in order.
    pub(crate) async fn write<F>(mut self, write: impl Fn(Part<I>) -> F) -> Vec<Result<O, Error>>
    where
        F: Future<Output = Result<Vec<O>, Failure>>,
    {
        let mut parts = self.by_bytes();
        let mut down: Option<Failure> = None;
        // From the front, so that items are accepted in order of arrival.
        while let Some(range) = parts.pop() {
            let open: Vec<usize> = range.clone().filter(|at| self.answers[*at].is_none()).collect();
            if open.is_empty() {
                continue;
            }
            if open.len() < range.len() && range.len() > 1 {
                // Refused before anything was sent; the items around it are tried.
                parts.extend(runs(&open).into_iter().rev());
                continue;
            }
            let part = Part {
                items: Arc::clone(&self.items),
                range: range.clone(),
            };
            let outcome = match &down {
                Some(failure) => Err(failure.clone()),
                None => write(part).await,
            };
            match outcome {
                Ok(written) => {
                    for (at, answer) in range.zip(written) {
                        self.answers[at] = Some(Ok(answer));
                    }
                }
                Err(failure) if failure.remedy() == Remedy::Bisect && range.len() > 1 => {
                    let middle = range.start + range.len() / 2;
                    parts.push(middle..range.end);
                    parts.push(range.start..middle);
                }
                Err(failure) => {
                    for at in range {
                        self.answers[at] = Some(Err(failure.to_error()));
                    }
                    if failure.remedy() == Remedy::Discard {
                        down = Some(failure);
                    }
                }
            }
        }
        let missing = || Err(Failure::Moved.to_error());
        let answers = self.answers.into_iter();
        answers.map(|answer| answer.unwrap_or_else(missing)).collect()
    }

    /// Parts that fit into one message to the server, in reverse order.
    fn by_bytes(&self) -> Vec<Range<usize>> {
        let mut parts: Vec<Range<usize>> = Vec::new();
        let mut bytes: usize = 0;
        for (at, item) in self.items.iter().enumerate() {
            let payload = (self.bytes)(item);
            bytes = bytes.saturating_add(payload);
            match parts.last_mut() {
                Some(part) if bytes <= PART_BYTES_MAX => part.end += 1,
                _ => {
                    parts.push(at..at + 1);
                    bytes = payload;
                }
            }
        }
        parts.reverse();
        parts
    }
}

/// Runs of neighbours.
fn runs(places: &[usize]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for at in places {
        match runs.last_mut() {
            Some(run) if run.end == *at => run.end += 1,
            _ => runs.push(*at..*at + 1),
        }
    }
    runs
}
