-- Who has the turn in a lane. There is one at most, however many wait.
CREATE INDEX places_turn ON hapax.places (bucket, destination, lane) WHERE standing = 1;
