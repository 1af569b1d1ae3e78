//! The identity of an event, why duplicates are recognized, how it was verified, and its duplicates.

use std::time::Duration;

use hapax_core::Timestamp;
use maud::{Markup, html};

use super::super::moment::moment;
use super::super::prose::{marked, prose};
use hapax_api::readable;
use hapax_api::views::{DuplicatesView, EventView, IdentityView, VerificationView};

pub(super) fn section(view: &EventView, now: Timestamp) -> Markup {
    html! {
        div class="grid" {
            @if let Some(identity) = &view.identity { (why(identity, now)) }
            @if let Some(verification) = &view.verification { (verified(verification)) }
            (duplicates(view.duplicates.as_ref(), view.received_at, now))
        }
    }
}

fn why(identity: &IdentityView, now: Timestamp) -> Markup {
    html! {
        section class="card stack" aria-labelledby="identity" {
            h3 id="identity" { "Identity" }
            p { (prose(&identity.sentence)) }
            dl class="kv" {
                dt { "Provider's id" } dd { code { (identity.event_id) } }
                @if let Some(rule) = &identity.rule { dt { "Found at" } dd { code { (rule) } } }
                dt { "Unique in" } dd { code { (identity.scope) } }
                dt { "Ledger key" } dd { code { (identity.key) } }
                @if let Some(generation) = identity.generation { dt { "Generation" } dd { (generation) } }
                @if let Some(at) = identity.first_seen { dt { "Committed" } dd { (moment(at, now)) } }
                @if let Some(at) = identity.expires_at { dt { "Forgotten" } dd { (moment(at, now)) } }
            }
        }
    }
}

fn verified(verification: &VerificationView) -> Markup {
    html! {
        section class="card stack" aria-labelledby="verification" {
            h3 id="verification" { "Verification" }
            p { (prose(&verification.sentence)) }
            dl class="kv" {
                @if let Some(scheme) = &verification.scheme { dt { "Scheme" } dd { (marked(scheme)) } }
                @if let Some(at) = verification.signed_at { dt { "Signed at" } dd { (at) } }
                @if let Some(after) = verification.arrived_after_ms { dt { "Arrived after" } dd { (after) " ms" } }
                @if let Some(number) = verification.secret_number { dt { "Secret" } dd { "number " (number) " of the source's secrets" } }
            }
        }
    }
}

fn duplicates(tally: Option<&DuplicatesView>, first: Timestamp, now: Timestamp) -> Markup {
    let tally = tally.filter(|tally| tally.count > 0);
    html! {
        section class="card stack" aria-labelledby="duplicates" {
            h3 id="duplicates" { "Duplicates" }
            @match tally {
                None => p class="muted" { "No duplicate has arrived. The last few seconds may not be counted yet." },
                Some(tally) => {
                    p {
                        b { (readable::count(tally.count)) } @if tally.count == 1 { " duplicate" } @else { " duplicates" }
                        " arrived after the first, the latest " (moment(tally.last_at, now)) ". None took effect."
                    }
                    (last_duplicates(tally, first))
                }
            }
        }
    }
}

fn last_duplicates(tally: &DuplicatesView, first: Timestamp) -> Markup {
    html! {
        div class="table" {
            table {
                caption { "The last " (tally.gaps_ms.len()) ", newest first" }
                thead { tr { th scope="col" { "Arrived" } th scope="col" class="number" { "After the first" } } }
                tbody {
                    @for gap in tally.gaps_ms.iter().rev().map(|millis| Duration::from_millis(*millis)) {
                        tr { td class="when" { (first.plus(gap)) } td class="number" { (readable::duration(gap)) } }
                    }
                }
            }
        }
    }
}
