//! Bodies from providers that do not sign the id, by scope and hash.

use std::collections::BTreeSet;
use std::sync::Arc;

use hapax_core::store::{BodyNote, MigrationCursor, MigrationPage, Record};
use hapax_core::{BodyHash, Scope};

use super::scopes;
use crate::bodies::{keep, key, read, shard_of};
use crate::failure::Failure;
use crate::link::Link;
use crate::reply;
use crate::snapshot::{Command, Room};

/// The number of remembered bodies.
pub(super) async fn count(link: &Arc<Link>) -> Result<u64, Failure> {
    let mut count = 0;
    for scope in scopes_of_bodies(link).await? {
        let sizes = sizes(link, &scope.as_str().into()).await?;
        count += sizes.iter().map(|(_, size)| size).sum::<u64>();
    }
    Ok(count)
}

/// The ledger's scopes, each with the scopes that belong to it.
async fn scopes_of_bodies(link: &Arc<Link>) -> Result<BTreeSet<String>, Failure> {
    let own = scopes::all(link).await?;
    let with = |scope: &String| ["", BodyNote::BINDINGS, BodyNote::SEALED].map(|end| format!("{scope}{end}"));
    Ok(own.iter().flat_map(with).collect())
}

/// The page after a body.
pub(super) async fn page(
    link: &Arc<Link>,
    after: Option<&(Scope, BodyHash)>,
    limit: usize,
) -> Result<MigrationPage, Failure> {
    let mut notes: Vec<BodyNote> = Vec::new();
    for scope in scopes_of_bodies(link).await? {
        let scope: Scope = scope.as_str().into();
        if notes.len() < limit && after.is_none_or(|(reached, _)| scope >= *reached) {
            let after = after.filter(|(reached, _)| scope == *reached);
            let after = after.map(|(_, hash)| *hash);
            notes.extend(of_scope(link, &scope, after, limit - notes.len()).await?);
        }
    }
    let next = match notes.last() {
        Some(last) if notes.len() == limit => {
            MigrationCursor::Bodies(Some((last.scope.clone(), last.raw_hash)))
        }
        Some(_) | None => MigrationCursor::Pauses,
    };
    Ok(MigrationPage {
        records: notes.into_iter().map(Record::Body).collect(),
        next: Some(next),
    })
}

/// The next bodies of a scope.
async fn of_scope(
    link: &Link,
    scope: &Scope,
    after: Option<BodyHash>,
    limit: usize,
) -> Result<Vec<BodyNote>, Failure> {
    let mut notes = Vec::new();
    for (first, size) in sizes(link, scope).await? {
        let is_behind = after.is_none_or(|after| first.as_bytes()[0] >= after.as_bytes()[0]);
        if size == 0 || !is_behind || notes.len() >= limit {
            continue;
        }
        let command = vec![Command::new("HGETALL", key(scope, first))];
        let found = link.read(shard_of(link, first), command).await?.next()?;
        let mut found: Vec<BodyNote> = reply::pairs(found)?
            .iter()
            .map(|(hash, value)| read(scope, hash, value))
            .collect::<Result<_, _>>()?;
        found.retain(|note| after.is_none_or(|after| note.raw_hash.as_bytes() > after.as_bytes()));
        found.sort_unstable_by_key(|note| *note.raw_hash.as_bytes());
        notes.extend(found);
    }
    notes.truncate(limit);
    Ok(notes)
}

/// The number of bodies of a scope for each first byte of their hashes, which a hash stands for.
async fn sizes(link: &Link, scope: &Scope) -> Result<Vec<(BodyHash, u64)>, Failure> {
    let hashes = (0..=u8::MAX).map(|byte| {
        let mut hash = [0; 32];
        hash[0] = byte;
        BodyHash::from_bytes(hash)
    });
    let mut sizes = Vec::new();
    for shard in link.shards().all() {
        let here: Vec<BodyHash> = hashes
            .clone()
            .filter(|hash| shard_of(link, *hash) == shard)
            .collect();
        let commands = here.iter().map(|hash| Command::new("HLEN", key(scope, *hash)));
        let answers = link.read(shard, commands.collect()).await?.answers;
        for (hash, size) in here.into_iter().zip(answers) {
            sizes.push((hash, reply::number(size)?));
        }
    }
    sizes.sort_unstable_by_key(|(hash, _)| *hash.as_bytes());
    Ok(sizes)
}

/// Imports a note, unless its body is known.
pub(super) async fn import(link: &Link, note: &BodyNote) -> Result<(), Failure> {
    let shard = shard_of(link, note.raw_hash);
    // An export finds bodies by the known scopes.
    scopes::numbered(link, shard, &BTreeSet::from([note.scope.as_str()])).await?;
    link.apply(shard, &[keep(note)], Room::Needed).await?;
    Ok(())
}
