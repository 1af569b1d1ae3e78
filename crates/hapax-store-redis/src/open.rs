//! Opening: the kind of server, whether it may lose acknowledged events, and the store's number of shards.

mod server;

use std::sync::Arc;
use std::time::Duration;

use redis::Value;
use tokio::time::{Instant, sleep};

use crate::failure::{Cause, Failure};
use crate::link::{Link, on_each};
use crate::shards::{HOME, Shard, Shards};
use crate::snapshot::{Change, Command, Made, Room};
use crate::url::{Kind, StoreAddress, UrlError};
use crate::{Options, import_mark, pauses, reply};
use hapax_core::store::Purpose;

pub use server::Warning;
pub(crate) use server::{info, setting};

/// The pause between two tries to open a store.
const AGAIN: Duration = Duration::from_millis(500);

/// The version of the key layout that this program writes.
pub const SCHEMA_VERSION: u64 = 1;

/// The store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The URL is not valid.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// There is no answer.
    #[error("Redis cannot be reached at {place}: {why}")]
    Unreachable {
        /// The address.
        place: String,
        why: String,
    },
    /// It answers, but some of its shards have no master.
    #[error(
        "the Redis Cluster at {place} answers, but not for every shard: {why}; a failover did not end within {waited:?}; \
         check it with `redis-cli --cluster check {node}`"
    )]
    NoMaster {
        /// The address.
        place: String,
        /// One of its servers.
        node: String,
        /// The last error.
        why: String,
        /// How long the store waited.
        waited: Duration,
    },
    /// The password is wrong.
    #[error("Redis at {place} refuses the user or the password: {why}")]
    Login {
        /// The address.
        place: String,
        /// The server's message.
        why: String,
    },
    /// Scripts need commands that the server does not have.
    #[error("Redis {found} at {node} is too old: Hapax needs 6.2 or newer")]
    TooOld { node: String, found: String },
    /// The server evicts acknowledged events when memory runs out.
    #[error(
        "Redis at {node} has `maxmemory-policy {policy}`: it would evict ledger entries, and their events would \
         take effect twice; run `redis-cli CONFIG SET maxmemory-policy noeviction` and add it to its configuration"
    )]
    Evicts { node: String, policy: String },
    /// The URL names one server, but it is part of a cluster.
    #[error("Redis at {0} is part of a cluster: write \"redis-cluster://\" instead of \"redis://\"")]
    IsACluster(String),
    /// The URL names a cluster, but it is one server.
    #[error("Redis at {0} is not a cluster: write \"redis://\" instead of \"redis-cluster://\"")]
    IsNoCluster(String),
    /// The number of shards is fixed when a store is created.
    #[error(
        "the store has {stored} shards and the URL asks for {asked}: the number is fixed; omit `shards`, or migrate \
         the store to a new one (`hapax store migrate`)"
    )]
    OtherShards {
        /// The store's number.
        stored: u64,
        /// The URL's number.
        asked: u8,
    },
    /// The store was written by a newer version.
    #[error(
        "the store was written by a newer Hapax (layout {found}, this one knows {SCHEMA_VERSION}): upgrade Hapax"
    )]
    Newer {
        /// The store's layout.
        found: u64,
    },
    /// The store belongs to a migration that was not finished: half a ledger is worse than none.
    #[error(
        "the store holds an unfinished migration: finish it with `hapax store migrate`, or delete its keys"
    )]
    UnfinishedMigration,
    /// It answers, but does not hold a readable store.
    #[error("the store cannot be read: {0}")]
    Unreadable(String),
}

/// An open store.
pub(crate) struct Opened {
    pub(crate) link: Arc<Link>,
    pub(crate) aside: Arc<Link>,
    pub(crate) kind: Kind,
    pub(crate) warnings: Vec<Warning>,
}

/// Opens the store. If part of a cluster answers, it may be in a failover, and the store waits for it to end.
pub(crate) async fn open(options: &Options) -> Result<Opened, OpenError> {
    let place = StoreAddress::parse(options.url.expose())?;
    let first_look = Link::new(&place, Shards::first_look(&place.prefix), options);
    let node = server::check_kind(&place, &first_look).await?;
    let began = Instant::now();
    let mut is_told = false;
    loop {
        let why = match open_once(&place, &first_look, options).await {
            Err(OpenError::Unreachable { why, .. }) if place.kind == Kind::Cluster => why,
            opened => return opened,
        };
        let waited = began.elapsed();
        if waited >= options.open_timeout {
            return Err(OpenError::NoMaster {
                place: place.to_string(),
                node: node.to_string(),
                why,
                waited,
            });
        }
        if !std::mem::replace(&mut is_told, true) {
            let limit = options.open_timeout;
            tracing::warn!(%why, ?limit, "the Redis Cluster does not answer for every shard; waiting for a failover to end");
        }
        first_look.doubt();
        sleep(AGAIN).await;
    }
}

async fn open_once(place: &StoreAddress, first_look: &Link, options: &Options) -> Result<Opened, OpenError> {
    let failed = |failure| refused(place, &failure);
    let count = shape(place, first_look).await?;
    let link = Arc::new(Link::new(place, Shards::new(&place.prefix, count), options));
    let warnings = server::check(place, &link, options).await?;
    on_each(&link, make).await.map_err(failed)?;
    pauses::align_all(&link).await.map_err(failed)?;
    if options.purpose == Purpose::Serve && import_mark::read(&link).await.map_err(failed)?.is_some() {
        return Err(OpenError::UnfinishedMigration);
    }
    Ok(Opened {
        aside: Arc::new(link.beside(place, options)),
        link,
        kind: place.kind,
        warnings,
    })
}

/// The number of shards: the existing store's, or the number for a new store.
async fn shape(place: &StoreAddress, link: &Link) -> Result<u8, OpenError> {
    let failed = |failure| refused(place, &failure);
    let new = place.shards_of_a_new_store();
    let mut change = Change::default().when("m", "shards", "");
    change.then(
        Command::new("HSET", "m")
            .arg("shards")
            .number(new)
            .arg("schema")
            .number(SCHEMA_VERSION),
    );
    let made = link.apply(HOME, &[change], Room::Needed).await.map_err(failed)?;
    if made == [Made::Yes] {
        return Ok(new);
    }
    let look = Command::new("HMGET", "m").arg("shards").arg("schema");
    let mut snapshot = link.read(HOME, vec![look]).await.map_err(failed)?;
    let [shards, schema]: [Value; 2] = snapshot.next().and_then(reply::exactly).map_err(failed)?;
    let stored = reply::number(shards).map_err(failed)?;
    let schema = reply::number(schema).map_err(failed)?;
    if schema > SCHEMA_VERSION {
        return Err(OpenError::Newer { found: schema });
    }
    match place.shards {
        Some(asked) if u64::from(asked) != stored => Err(OpenError::OtherShards { stored, asked }),
        Some(_) | None => Ok(stored as u8),
    }
}

/// Creates the first key of a shard's door.
async fn make(link: Arc<Link>, shard: Shard) -> Result<(), Failure> {
    let mut change = Change::default().when("m", "shard", "");
    change.then(Command::new("HSET", "m").arg("shard").number(shard.0));
    link.apply_one(shard, change).await?;
    Ok(())
}

fn refused(place: &StoreAddress, failure: &Failure) -> OpenError {
    let why = failure.to_string();
    let place = place.to_string();
    match failure {
        Failure::NotBegun(Cause::Server(error)) | Failure::Unknown(Cause::Server(error)) => {
            let is_login = error.kind() == redis::ErrorKind::AuthenticationFailed
                || matches!(error.code(), Some("NOAUTH" | "WRONGPASS" | "NOPERM"));
            if is_login {
                OpenError::Login { place, why }
            } else {
                OpenError::Unreachable { place, why }
            }
        }
        Failure::NotBegun(_) | Failure::Unknown(_) | Failure::TooMany => {
            OpenError::Unreachable { place, why }
        }
        Failure::NoRoom(_)
        | Failure::FewReplicas { .. }
        | Failure::Damaged(_)
        | Failure::Rejected(_)
        | Failure::Contended => OpenError::Unreadable(why),
    }
}
