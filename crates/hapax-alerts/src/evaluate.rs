//! From rule evaluations to the stored alerts: raises, refreshes and resolves them, each by a compare-and-swap.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hapax_core::Timestamp;

use super::Alerts;
use super::facts::Facts;
use super::kept::Kept;
use super::message::wrong;
use super::plan::Plan;
use super::row::{Excess, Row};
use super::rules::{self, Evaluation, Rest};
use hapax_api::alert::Rule;
use hapax_api::alert::State;

/// An alert that keeps firing is written again once per this fraction of `resolve_after`.
const BEATS: u32 = 4;

/// When this process last saw each alert change, by its own clock: no two clocks are ever compared.
#[derive(Debug, Default)]
pub(super) struct Memory(BTreeMap<String, Seen>);

#[derive(Clone, Copy, Debug)]
struct Seen {
    beat: u64,
    since: Timestamp,
    at: Duration,
    /// When this process last found it true, or could not tell; not every evaluation is written to the store.
    true_at: Duration,
}

enum Turn {
    Nothing,
    Become(Row),
    Resolve,
}

impl Alerts {
    /// Evaluates every rule and swaps the resulting changes. Returns the stored alerts as far as this process knows.
    pub(super) async fn evaluate(&self, plan: &Plan, facts: &Facts, kept: Vec<Kept>) -> Vec<Kept> {
        self.remember(&kept);
        let evaluations: BTreeMap<Rule, Evaluation> = Rule::ALL
            .into_iter()
            .map(|rule| (rule, evaluation(plan, facts, rule)))
            .collect();
        let mut known = Vec::new();
        for kept in kept {
            let (rule, subject) = (kept.row.rule, &kept.row.subject);
            let excess = evaluations[&rule].excess(plan, rule, subject);
            let rest = evaluations[&rule].rest;
            known.extend(self.turn(plan, facts.now, excess, rest, kept).await);
        }
        let names: BTreeSet<String> = known.iter().map(|kept| kept.name.clone()).collect();
        for (rule, evaluation) in &evaluations {
            for subject in evaluation.firing.keys() {
                let name = Row::name(*rule, subject);
                if let (false, Some(excess)) =
                    (names.contains(&name), evaluation.excess(plan, *rule, subject))
                {
                    let receivers = plan.receivers.keys().collect();
                    let row = Row::raised(*rule, subject, excess, facts.now, &receivers);
                    let raised = self.shelf.add(name, row).await;
                    if let Some(kept) = raised {
                        say_firing(&kept.row);
                        known.push(kept);
                    }
                }
            }
        }
        known
    }

    /// Takes one alert from its old state to its new one; `None` if nothing is left of it.
    async fn turn(
        &self,
        plan: &Plan,
        now: Timestamp,
        excess: Option<Excess>,
        rest: Rest,
        kept: Kept,
    ) -> Option<Kept> {
        let known: BTreeSet<&String> = plan.receivers.keys().collect();
        let row = &kept.row;
        let next = match (row.state, excess, rest) {
            (State::Firing, Some(_), _) | (State::Firing, None, Rest::Unknown) => {
                self.found_true(&kept.name);
                self.kept_alive(plan, &kept, excess)
            }
            (State::Firing, None, Rest::Fine) if self.stands_still(plan, &kept) => Turn::Resolve,
            (State::Resolved, Some(excess), _) => Turn::Become(row.raised_again(excess, now, &known)),
            (State::Firing | State::Resolved, None, _) => Turn::Nothing,
        };
        match next {
            Turn::Nothing => self.tidy(now, &known, kept).await,
            Turn::Become(row) => {
                let fires_again = kept.row.state == State::Resolved;
                let changed = self.shelf.change(&kept, Some(row)).await;
                let changed = changed.unwrap_or(Some(kept))?;
                if fires_again && changed.row.state == State::Firing {
                    say_firing(&changed.row);
                }
                Some(changed)
            }
            Turn::Resolve => match self.shelf.change(&kept, kept.row.resolved(now)).await {
                Some(changed) => {
                    say_resolved(&kept.row);
                    changed
                }
                None => Some(kept),
            },
        }
    }

    /// Writes to the store, from time to time, that it is still true.
    fn kept_alive(&self, plan: &Plan, kept: &Kept, excess: Option<Excess>) -> Turn {
        let beat_is_old =
            |seen: Seen, now: Duration| now.saturating_sub(seen.at) >= plan.resolve_after / BEATS;
        if self.seen(&kept.name, beat_is_old) {
            Turn::Become(kept.row.still(excess))
        } else {
            Turn::Nothing
        }
    }

    /// Whether no process has found it true for long, as far as this one can see.
    fn stands_still(&self, plan: &Plan, kept: &Kept) -> bool {
        self.seen(&kept.name, |seen, now| {
            now.saturating_sub(seen.at.max(seen.true_at)) >= plan.resolve_after
        })
    }

    fn seen(&self, name: &str, is_so: impl FnOnce(Seen, Duration) -> bool) -> bool {
        let now = self.gatherer.clock.elapsed();
        let memory = self.memory.lock();
        memory.0.get(name).is_some_and(|seen| is_so(*seen, now))
    }

    fn found_true(&self, name: &str) {
        let now = self.gatherer.clock.elapsed();
        let mut memory = self.memory.lock();
        if let Some(seen) = memory.0.get_mut(name) {
            seen.true_at = now;
        }
    }

    async fn tidy(&self, now: Timestamp, known: &BTreeSet<&String>, kept: Kept) -> Option<Kept> {
        let (dropped, row) = kept.row.tidied(now, known);
        if dropped == 0 {
            return Some(kept);
        }
        let Some(changed) = self.shelf.change(&kept, row).await else {
            return Some(kept);
        };
        tracing::warn!(
            alert = kept.row.rule.as_str(),
            subject = kept.row.subject,
            dropped,
            "alert messages dropped: no receiver accepted them in time"
        );
        changed
    }

    fn remember(&self, kept: &[Kept]) {
        let now = self.gatherer.clock.elapsed();
        let mut memory = self.memory.lock();
        let names: BTreeSet<&String> = kept.iter().map(|kept| &kept.name).collect();
        memory.0.retain(|name, _| names.contains(name));
        for Kept { name, row, .. } in kept {
            let (beat, since, at) = (row.beat, row.since, now);
            let is_same = |seen: &Seen| (seen.beat, seen.since) == (beat, since);
            let seen = memory.0.get(name);
            if !seen.is_some_and(is_same) {
                let true_at = seen.map_or(Duration::ZERO, |seen| seen.true_at);
                let seen = Seen {
                    beat,
                    since,
                    at,
                    true_at,
                };
                memory.0.insert(name.clone(), seen);
            }
        }
    }
}

impl Evaluation {
    fn excess(&self, plan: &Plan, rule: Rule, subject: &str) -> Option<Excess> {
        let (value, limit) = (*self.firing.get(subject)?, *plan.limits.get(&rule)?);
        Some(Excess { value, limit })
    }
}

/// A rule that is switched off finds nothing, and its alerts are resolved.
fn evaluation(plan: &Plan, facts: &Facts, rule: Rule) -> Evaluation {
    let nothing = Evaluation {
        firing: BTreeMap::new(),
        rest: Rest::Fine,
    };
    let limit = plan.limits.get(&rule);
    limit.map_or(nothing, |limit| rules::evaluate(rule, facts, *limit))
}

fn say_firing(row: &Row) {
    tracing::warn!(
        alert = row.rule.as_str(),
        subject = row.subject,
        value = row.value,
        limit = row.limit,
        "alert firing: {}",
        wrong(row.rule, &row.subject, row.value, row.limit)
    );
}

fn say_resolved(row: &Row) {
    tracing::info!(
        alert = row.rule.as_str(),
        subject = row.subject,
        since = %row.since,
        "alert resolved"
    );
}
