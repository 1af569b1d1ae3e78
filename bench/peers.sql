-- What the hand-written handlers need: the ids that were processed, and the effect of each event.
create table processed_events (event_id text primary key, at timestamptz default now());
create table effects (event text not null);
