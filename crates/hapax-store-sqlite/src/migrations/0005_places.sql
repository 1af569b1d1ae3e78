-- Orders events by acceptance, by the numbers that places in lanes come from: the place of an event that reaches a lane
-- only by a replay. Null for events that an earlier program stored.
ALTER TABLE events ADD COLUMN no INTEGER;

-- Who has the turn in a lane. There is one at most, however many wait.
CREATE INDEX work_turn ON work (destination, lane) WHERE lane IS NOT NULL AND class <> 3;
