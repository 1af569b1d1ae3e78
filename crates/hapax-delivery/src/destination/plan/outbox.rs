//! An outbox as the engine sees it: a source of events, and a destination for those that name a URL.

use std::sync::Arc;

use hapax_core::DestinationId;
use hapax_engine::{Destination, OnConflict, Route, Routing, SameBody};

use super::DEADLINE_GRACE;
use crate::destination::{Address, HttpTarget, SetupError, Shared, signer};
use crate::outbox::full_name;
use hapax_config::{
    Config, OUTBOX_LEDGER_WINDOW as LEDGER_WINDOW, OUTBOX_PAYLOAD_RETENTION as PAYLOAD_RETENTION, Outbox,
};

/// Adds every outbox: its rows may go to any configured destination or to their own URL.
pub(super) fn route(config: &Config, routing: &mut Routing) {
    for outbox in config.outboxes.values() {
        let destination = treatment(outbox);
        routing.destinations.insert(destination.id.clone(), destination);
    }
    let mut all: Vec<DestinationId> = routing.destinations.keys().cloned().collect();
    all.sort_unstable();
    for outbox in config.outboxes.values() {
        let name = full_name(&outbox.name);
        let route = Route {
            scope: name.as_str().into(),
            deliver_to: all.clone(),
            ledger_window: LEDGER_WINDOW,
            payload_retention: PAYLOAD_RETENTION,
            dead_retention: LEDGER_WINDOW,
            rate: None,
            // The writer of a row chooses its key: the same body under another key is another call.
            id_is_signed: true,
            same_body: SameBody::Flag,
            indexed: Vec::new(),
            on_conflict: OnConflict::Keep,
        };
        routing.sources.insert(name.into(), route);
    }
}

/// The HTTP target that calls the URLs of an outbox's rows.
pub(super) fn target(outbox: &Outbox, shared: &Shared) -> Result<(DestinationId, HttpTarget), SetupError> {
    let name = full_name(&outbox.name);
    let signer = outbox
        .secret
        .as_ref()
        .map(|secret| signer(&name, secret.expose()));
    let target = HttpTarget {
        url: Address::OfEvent,
        signer: signer.transpose()?,
        timeout: outbox.timeout,
        client: shared.client.for_rows(&outbox.name, &outbox.allow_targets),
        clock: Arc::clone(&shared.clock),
        key_form: outbox.key_form,
        batch_headers: Arc::clone(&shared.batch_headers),
        propagation: shared.propagation,
    };
    Ok((name.into(), target))
}

fn treatment(outbox: &Outbox) -> Destination {
    Destination {
        id: full_name(&outbox.name).into(),
        events: Vec::new(),
        concurrency: outbox.concurrency,
        rate: None,
        attempts_max: outbox.max_attempts,
        backoff: outbox.backoff,
        lease: outbox.lease(),
        deadline: outbox.timeout + DEADLINE_GRACE,
        order_by: None,
        on_dead: outbox.on_dead,
        remembers: None,
    }
}
