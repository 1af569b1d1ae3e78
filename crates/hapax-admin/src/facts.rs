//! The facts of an event in words: its identity, why duplicates are recognized, and how it was verified.

use hapax_core::store::{DuplicateTally, EventRecord, LedgerEntry};
use hapax_core::{IdOrigin, StoredEvent, Timestamp};

use super::state::{AdminState, SourceFacts};
use hapax_api::readable;
use hapax_api::views::{EventView, IdentityView, RefusalView, VerificationView};
use hapax_telemetry::Refusal;

use super::api_error::ApiResult;
use super::show::Names;
use super::sight::VisibleRecord;

/// A complete event with its facts.
pub async fn event(state: &AdminState, record: &VisibleRecord, now: Timestamp) -> ApiResult<EventView> {
    let settings = state.settings.load();
    let mut view = Names::now(state, &settings).event(record);
    let facts = settings.facts.get(record.event.source.as_str());
    let entry = state.engine.store().look_up(&record.event.identity).await?;
    // Another event may have taken a forgotten id since; its entry says nothing about this one.
    let entry = entry.filter(|entry| entry.id == record.event.id);
    view.identity = Some(identity(record, entry.as_ref(), facts, now));
    view.verification = Some(verification(&record.event, facts));
    Ok(view)
}

fn identity(
    record: &EventRecord,
    entry: Option<&LedgerEntry>,
    facts: Option<&SourceFacts>,
    now: Timestamp,
) -> IdentityView {
    let identity = &record.event.identity;
    let rule = facts.map(SourceFacts::rule);
    let left = entry.map(|entry| entry.expires_at.since(now));
    IdentityView {
        key: format!("{:?}", identity.key()),
        scope: identity.scope.to_string(),
        event_id: identity.event_id.clone(),
        sentence: why(record, entry, rule.as_deref(), now),
        rule,
        generation: entry.map(|entry| entry.generation.0),
        first_seen: entry.map(|entry| entry.first_seen),
        expires_at: entry.map(|entry| entry.expires_at),
        window_left_seconds: left.map(|left| left.as_secs()),
    }
}

fn why(record: &EventRecord, entry: Option<&LedgerEntry>, rule: Option<&str>, now: Timestamp) -> String {
    let identity = &record.event.identity;
    let conflict = match IdOrigin::of(&identity.event_id) {
        IdOrigin::Generated => {
            return format!(
                "The provider assigns no unique id, so Hapax generated `{}`. The event is not deduplicated: every \
                 delivery is a new event.",
                identity.event_id
            );
        }
        IdOrigin::Conflict => {
            "The provider used this id for a different body before. The event was accepted under an id made of both. "
        }
        IdOrigin::Provider | IdOrigin::Missing => "",
    };
    let place = rule.map_or_else(String::new, |rule| format!(", found at {rule},"));
    let id = format!(
        "the id `{}`{place} in scope `{}`",
        identity.event_id, identity.scope
    );
    let Some(entry) = entry else {
        return format!("{conflict}The ledger has forgotten {id}: another delivery is accepted as new.");
    };
    let left = readable::duration_in_words(entry.expires_at.since(now));
    let first = entry.first_seen;
    match record.duplicates.as_ref().filter(|tally| tally.count > 0) {
        None => format!(
            "{conflict}Another delivery with {id} is a duplicate: it was first committed at {first}, and the ledger \
             remembers it for another {left}."
        ),
        Some(tally) => format!(
            "{conflict}{} because {id} was already first committed at {first}; the ledger remembers it for another {left}.",
            duplicate_count(tally)
        ),
    }
}

fn duplicate_count(tally: &DuplicateTally) -> String {
    match tally.count {
        1 => "1 later delivery was a duplicate".to_owned(),
        many => format!("{many} later deliveries were duplicates"),
    }
}

fn verification(event: &StoredEvent, facts: Option<&SourceFacts>) -> VerificationView {
    let scheme = facts.map(|facts| facts.recipe.proof.summary());
    let after = |signed: Timestamp| (event.received_at.as_micros() - signed.as_micros()) / 1_000;
    let arrived_after_ms = event.signed_at.map(after);
    let secret_number = event.secret_index.map(|index| u32::from(index) + 1);
    VerificationView {
        sentence: proven(scheme.as_deref(), arrived_after_ms, secret_number),
        scheme,
        signed_at: event.signed_at,
        arrived_after_ms,
        secret_number,
    }
}

fn proven(scheme: Option<&str>, arrived_after_ms: Option<i64>, secret_number: Option<u32>) -> String {
    let scheme = scheme.unwrap_or("a scheme that is no longer configured");
    let secret = match secret_number {
        Some(number) => format!("Verified with {scheme} and secret {number} of its source"),
        None => format!("Accepted with {scheme}; no secret is recorded"),
    };
    match arrived_after_ms {
        None => format!("{secret}. No time was signed."),
        Some(after @ 0..) => format!("{secret}, signed {after} ms before it arrived."),
        Some(ahead) => format!(
            "{secret}, signed {} ms after it arrived, by the local clock: the provider's clock is ahead.",
            ahead.unsigned_abs()
        ),
    }
}

pub fn refusal(refusal: Refusal) -> RefusalView {
    RefusalView {
        at: refusal.at,
        status: refusal.code.status(),
        code: refusal.code.to_string(),
        detail: refusal.detail,
        likely: refusal.likely,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_says_which_secret_and_how_long_before() {
        assert_eq!(
            proven(Some("HMAC"), Some(1_200), Some(2)),
            "Verified with HMAC and secret 2 of its source, signed 1200 ms before it arrived."
        );
        assert!(proven(Some("HMAC"), Some(-30), Some(1)).contains("provider's clock is ahead"));
        assert!(proven(None, None, None).ends_with("No time was signed."));
    }
}
