//! Every problem code, with its status and meaning.

/// The errors of the ingest port: code, status, meaning.
pub const INGEST: [(&str, u16, &str); 26] = [
    ("signature_missing", 401, "The request has no signature."),
    (
        "signature_invalid",
        401,
        "The signature matches none of the source's secrets.",
    ),
    (
        "timestamp_out_of_range",
        401,
        "The signature is valid, but its timestamp is too old or in the future.",
    ),
    (
        "transmission_reused",
        401,
        "The sender does not sign the body, and this transmission came with another one before.",
    ),
    (
        "address_not_allowed",
        403,
        "The request comes from an address that the source's `allow_from` does not name.",
    ),
    (
        "tls_required",
        400,
        "The port speaks TLS, and the request came in plain text.",
    ),
    (
        "handshake_refused",
        403,
        "A sender's handshake does not prove itself, or hands over a secret that nobody asked for.",
    ),
    (
        "confirmation_failed",
        503,
        "The sender asks to be confirmed by a call of its URL, and the call failed; the sender asks again.",
    ),
    (
        "event_id_missing",
        400,
        "The event has no id where the rule says it should be, or one that cannot be used.",
    ),
    (
        "malformed_body",
        400,
        "The body cannot be read where the id must be inside it.",
    ),
    ("body_incomplete", 400, "The body ended before it was whole."),
    ("unknown_source", 404, "There is no source with this name."),
    ("not_found", 404, "There is nothing at this path."),
    (
        "method_not_allowed",
        405,
        "The path does not take this method; `Allow` says which it takes.",
    ),
    (
        "head_timeout",
        408,
        "The head of the request did not arrive in time.",
    ),
    ("body_timeout", 408, "The body did not arrive in time."),
    (
        "body_too_large",
        413,
        "The body is larger than the source's `body_limit`.",
    ),
    ("event_refused", 422, "The store cannot keep this event."),
    (
        "rate_limited",
        429,
        "The source's `rate_limit` is reached; `Retry-After` says when to come again.",
    ),
    (
        "store_unsupported",
        500,
        "The store is not set up as Hapax needs it; nothing was accepted. The log says what is missing.",
    ),
    (
        "store_unavailable",
        503,
        "The store cannot be written; nothing was accepted, and the sender delivers again.",
    ),
    (
        "key_unavailable",
        503,
        "The key that the signature names cannot be fetched now; nothing was accepted, and the sender delivers again.",
    ),
    (
        "overloaded",
        503,
        "There is no room for more; nothing was accepted, and the sender delivers again.",
    ),
    (
        "shutting_down",
        503,
        "The service is stopping; nothing was accepted, and the sender delivers again.",
    ),
    (
        "handler_failed",
        500,
        "`ack = \"processed\"`: the event is stored, but a destination failed; a delivery of it makes the next attempt.",
    ),
    (
        "in_flight",
        503,
        "`ack = \"processed\"`: the event is stored and its work goes on; `Retry-After` says when to ask again.",
    ),
];

/// Further errors of the admin API, in addition to the codes above.
pub const ADMIN: [(&str, u16, &str); 30] = [
    (
        "unauthorized",
        401,
        "The token is missing or wrong, or the session is over.",
    ),
    (
        "forbidden_origin",
        403,
        "Without a token, the admin API answers only this machine.",
    ),
    ("role_too_low", 403, "The caller's role does not allow this."),
    (
        "sources_limited",
        403,
        "The caller sees only some sources, and this is about others, or about all.",
    ),
    (
        "field_redacted",
        403,
        "A search by a field that is hidden from this token.",
    ),
    (
        "stale_form",
        403,
        "A form of the dashboard was not made by a page of this session.",
    ),
    (
        "sign_in_stale",
        400,
        "A sign-in at the identity provider came back too late, or to another browser.",
    ),
    (
        "sign_in_refused",
        403,
        "The identity provider ended the sign-in, or its answer is not believed.",
    ),
    (
        "no_role",
        403,
        "The user signed in at the identity provider, but none of their claims gives access to Hapax.",
    ),
    (
        "identity_provider_unavailable",
        503,
        "The identity provider does not answer, or not as `[server.oidc]` says.",
    ),
    (
        "too_many_attempts",
        429,
        "Too many wrong tokens came from this address; `Retry-After` says when one is looked at again.",
    ),
    (
        "invalid_parameter",
        400,
        "A value of the request cannot be understood.",
    ),
    ("unknown_path", 404, "There is nothing at this path."),
    (
        "event_not_found",
        404,
        "There is no event with this id, or its body is gone.",
    ),
    (
        "unknown_destination",
        404,
        "There is no destination with this name.",
    ),
    ("unknown_receiver", 404, "No alert receiver has this name."),
    ("replay_not_found", 404, "There is no replay with this id."),
    (
        "ledger_entry_not_found",
        404,
        "The ledger does not know this event id.",
    ),
    (
        "conflict_not_found",
        404,
        "The event has no conflict with this hash.",
    ),
    (
        "saved_search_not_found",
        404,
        "There is no saved search with this name.",
    ),
    (
        "too_many_saved_searches",
        409,
        "The limit of saved searches is reached.",
    ),
    (
        "outbox_row_not_found",
        404,
        "There is no such outbox, or it has no refused row with this id.",
    ),
    (
        "outbox_unavailable",
        503,
        "The database of the outbox cannot be used now.",
    ),
    (
        "deliveries_unfinished",
        409,
        "Deliveries of the event are unfinished; wait for them, or pause the destination.",
    ),
    (
        "nothing_to_replay",
        409,
        "No delivery of the event fits the mode.",
    ),
    (
        "replay_finished",
        409,
        "The replay has finished and cannot be cancelled.",
    ),
    (
        "no_registration",
        409,
        "The provider of this source does not send its secret, so there is nothing to register.",
    ),
    ("store_rejected", 422, "The store refuses this."),
    ("too_many_streams", 503, "Too many live tails at once."),
    (
        "store_damaged",
        500,
        "The store's file is damaged; it is left as it is.",
    ),
];

/// Every code with its status and meaning.
pub fn codes() -> impl Iterator<Item = (&'static str, u16, &'static str)> {
    INGEST.into_iter().chain(ADMIN)
}
