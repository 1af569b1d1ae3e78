//! Who held which lease: one at a time, each under a token of its own, and only the holder writes.

use std::collections::BTreeMap;

use hapax_core::Token;

use super::{Rule, Violation};
use crate::executor::Process;
use crate::history::{Delivery, Entry, Fact};

pub(super) fn check(history: &[Entry]) -> Vec<Violation> {
    let mut holders: BTreeMap<&Delivery, (Process, Token)> = BTreeMap::new();
    let mut last_token = None;
    let mut violations = Vec::new();
    for entry in history {
        match &entry.fact {
            Fact::Leased { by, delivery, token } => {
                if let Some((holder, _)) = holders.insert(delivery, (*by, *token)) {
                    let what = format!("{delivery} was leased to {by} while {holder} had it");
                    violations.push(Violation::new(Rule::TwoHolders, entry, what));
                }
                if last_token.replace(*token).is_some_and(|last| last >= *token) {
                    let what = format!("{delivery} was leased under token {}, which is not new", token.0);
                    violations.push(Violation::new(Rule::TokenReused, entry, what));
                }
            }
            Fact::Rescued { delivery, .. } => {
                holders.remove(delivery);
            }
            Fact::Finished {
                by, delivery, token, ..
            } => {
                if holders.remove(delivery) != Some((*by, *token)) {
                    let what = format!("{by} recorded the end of {delivery} without its lease");
                    violations.push(Violation::new(Rule::StaleWrite, entry, what));
                }
            }
            _ => {}
        }
    }
    violations
}
