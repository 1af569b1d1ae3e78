//! Leases: one holder at a time, each under its own token, and only the holder writes.

use std::collections::BTreeMap;

use hapax_core::Token;

use super::Violation;
use crate::executor::Process;
use crate::history::{Delivery, Entry, Fact};
use crate::rule::Rule;

pub(super) fn check(history: &[Entry]) -> Vec<Violation> {
    let mut leases = Leases::default();
    let mut violations = Vec::new();
    for entry in history {
        if let Fact::Leased { by, delivery, token } = &entry.fact {
            if let Some((holder, _)) = leases.held.insert(delivery, (*by, *token)) {
                let what = format!("{delivery} was leased to {by} while {holder} had it");
                violations.push(Violation::new(Rule::TwoHolders, entry, what));
            }
            if leases.last.replace(*token).is_some_and(|last| last >= *token) {
                let what = format!("{delivery} was leased under token {}, which is not new", token.0);
                violations.push(Violation::new(Rule::TokenReused, entry, what));
            }
        } else if let Fact::Rescued { delivery, .. } = &entry.fact {
            leases.held.remove(delivery);
        } else if let Fact::Finished {
            by, delivery, token, ..
        } = &entry.fact
            && leases.held.remove(delivery) != Some((*by, *token))
        {
            let what = format!("{by} recorded the end of {delivery} without its lease");
            violations.push(Violation::new(Rule::StaleWrite, entry, what));
        }
    }
    violations
}

/// The leases at this point of the history.
#[derive(Default)]
struct Leases<'a> {
    held: BTreeMap<&'a Delivery, (Process, Token)>,
    last: Option<Token>,
}
