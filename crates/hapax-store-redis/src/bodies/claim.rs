//! Claiming bodies for events that are about to be accepted.
//!
//! A body is in another shard than its event, so no script reaches both: the body is claimed first, for the event's
//! *identity*. A crash between the two steps leaves a claim without an event. The provider got no answer and retries
//! under the same identity, which owns the claim; under any other identity the body is held. The event id stored with
//! the claim only says which event to show; it is corrected once the event has one.

use std::collections::HashMap;

use hapax_core::store::BodyNote;
use hapax_core::{BodyHash, EventId, Key, Scope};

use super::{EXPIRING, keep, key, read, shard_of, value};
use crate::failure::Failure;
use crate::link::Link;
use crate::reply;
use crate::shards::Shard;
use crate::snapshot::{Change, Command, Made, Room};
use crate::spread::by_shard;

/// The results of the claims, by the ids that the events would have.
pub(crate) type Claims = HashMap<EventId, BodyClaim>;

/// The result of one claim.
pub(crate) enum BodyClaim {
    /// The body belongs to its identity; the note says which event has it.
    Own(BodyNote),
    /// The body belongs to another identity.
    Other(EventId),
}

/// Claims bodies, each for an identity, in the order of the call.
pub(crate) async fn claim(link: &Link, bodies: Vec<(Key, BodyNote)>) -> Result<Claims, Failure> {
    let calls = by_shard(bodies, |(_, note)| shard_of(link, note.raw_hash));
    let calls = calls
        .into_iter()
        .map(|(shard, bodies)| claim_some(link, shard, bodies));
    let claims = futures_util::future::try_join_all(calls).await?;
    Ok(claims.into_iter().flatten().collect())
}

async fn claim_some(
    link: &Link,
    shard: Shard,
    bodies: Vec<(usize, (Key, BodyNote))>,
) -> Result<Claims, Failure> {
    let changes = bodies.iter().map(|(_, (identity, note))| {
        let mut change = keep(note);
        change.then(
            Command::new("HSET", claimants(&note.scope, note.raw_hash))
                .arg(*note.raw_hash.as_bytes())
                .arg(*identity.as_bytes()),
        );
        change
    });
    let changes: Vec<_> = changes.collect();
    let made = link.apply(shard, &changes, Room::Needed).await?;
    let mut claims = Claims::new();
    for ((_, (identity, note)), made) in bodies.into_iter().zip(made) {
        let claim = match made {
            Made::Yes => BodyClaim::Own(note.clone()),
            Made::No => known(link, shard, identity, &note).await?,
        };
        claims.insert(note.id, claim);
    }
    Ok(claims)
}

/// The owner of a body that was claimed or noted before.
async fn known(link: &Link, shard: Shard, identity: Key, claimed: &BodyNote) -> Result<BodyClaim, Failure> {
    let (scope, hash) = (&claimed.scope, claimed.raw_hash);
    let commands = vec![
        Command::new("HGET", key(scope, hash)).arg(*hash.as_bytes()),
        Command::new("HGET", claimants(scope, hash)).arg(*hash.as_bytes()),
    ];
    let mut snapshot = link.read(shard, commands).await?;
    let Some(value) = reply::optional_bytes(snapshot.next()?)? else {
        // It has just been purged: the provider will retry.
        return Err(Failure::Contended);
    };
    let note = read(scope, hash.as_bytes(), &value)?;
    let claimant = reply::optional_bytes(snapshot.next()?)?;
    let is_own = note.id == claimed.id || claimant.is_some_and(|claimant| claimant == identity.as_bytes());
    Ok(if is_own {
        BodyClaim::Own(note)
    } else {
        BodyClaim::Other(note.id)
    })
}

/// Records which event has a body that its identity has claimed, if it is another than assumed: two duplicates arrived
/// at once, or a request was retried after its first accept had failed. If this fails, a held event refers to an id
/// that is not stored.
pub(crate) async fn name(link: &Link, claim: Option<&BodyClaim>, id: EventId) {
    let Some(BodyClaim::Own(note)) = claim else { return };
    if note.id == id {
        return;
    }
    let (scope, hash) = (&note.scope, note.raw_hash);
    let named = BodyNote { id, ..note.clone() };
    let mut change = Change::default().when(key(scope, hash), *hash.as_bytes(), value(note));
    change.then(
        Command::new("HSET", key(scope, hash))
            .arg(*hash.as_bytes())
            .arg(value(&named)),
    );
    if let Err(failure) = link.apply_one(shard_of(link, hash), change).await {
        tracing::debug!(%failure, "the event that has a body was not recorded");
    }
}

/// Renames a note, and with it the claim of its identity, if it still belongs to the same event. If the new name is
/// already known, the old one is deleted.
pub(crate) async fn rename(link: &Link, before: &BodyNote, after: &BodyNote) -> Result<(), Failure> {
    let (shard, hash) = (shard_of(link, before.raw_hash), *before.raw_hash.as_bytes());
    let places = [key, claimants].map(|place| place(&before.scope, before.raw_hash));
    let commands = places.clone().map(|place| Command::new("HGET", place).arg(hash));
    let mut snapshot = link.read(shard, commands.into()).await?;
    let stored = reply::optional_bytes(snapshot.next()?)?;
    let claimant = reply::optional_bytes(snapshot.next()?)?;
    let Some(stored) = stored else { return Ok(()) };
    if read(&before.scope, &hash, &stored)?.id != before.id {
        return Ok(());
    }
    let mut change = keep(after);
    if let Some(claimant) = claimant {
        let command = Command::new("HSET", claimants(&after.scope, after.raw_hash));
        change.then(command.arg(*after.raw_hash.as_bytes()).arg(claimant));
    }
    link.apply(shard_of(link, after.raw_hash), &[change], Room::Needed)
        .await?;
    let [noted, _] = &places;
    let mut change = Change::default().when(noted.clone(), hash, stored);
    for place in places.clone() {
        change.then(Command::new("HDEL", place).arg(hash));
    }
    change.then(Command::new("ZREM", EXPIRING).arg(super::name(before)));
    link.apply_one(shard, change).await?;
    Ok(())
}

/// The hash with the keys of the identities that have claimed bodies.
pub(super) fn claimants(scope: &Scope, hash: BodyHash) -> String {
    format!("K{}", &key(scope, hash)[1..])
}
