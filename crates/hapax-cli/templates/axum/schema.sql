-- hapax_inbox is created beside it: the record of an event commits together with its payment.
create table if not exists payments (
    event_id text not null,
    amount bigint not null
);
