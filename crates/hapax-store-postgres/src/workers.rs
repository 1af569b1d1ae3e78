//! The workers of a distributed database: which shard holds a bucket, and connections to them.
//!
//! Citus passes a statement from the coordinator on to the worker that holds the rows, and on the way plans and parses it
//! more than once. Events of the usual kind are therefore written on the worker itself, into the shards, as Citus does it:
//! with Citus' own lock on the shard, and after looking up under that lock that the shard is still there. Anything that
//! does not fit goes through the coordinator.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::join_all;
use hapax_core::Secret;
use parking_lot::Mutex;

use crate::Options;
use crate::connect::Connector;
use crate::failure::Failure;
use crate::pool::{Maker, Pool};
use crate::session::{Session, Terms};
use crate::step::Runner;

/// Every bucket with its shards and the worker that has them.
const SHARDS: &str = "
    SELECT b.bucket::int2, s.ledger, s.events, s.work, s.tallies, n.nodename::text, n.nodeport, n.groupid
    FROM generate_series(0, 63) AS b (bucket)
    CROSS JOIN LATERAL (
        SELECT get_shard_id_for_distribution_column('hapax.ledger', b.bucket::int2) AS ledger,
               get_shard_id_for_distribution_column('hapax.events', b.bucket::int2) AS events,
               get_shard_id_for_distribution_column('hapax.work', b.bucket::int2) AS work,
               get_shard_id_for_distribution_column('hapax.tallies', b.bucket::int2) AS tallies) AS s
    JOIN pg_catalog.pg_dist_placement p ON p.shardid = s.ledger AND p.shardstate = 1
    JOIN pg_catalog.pg_dist_node n ON n.groupid = p.groupid AND n.noderole::text = 'primary'
    WHERE n.groupid <> 0 AND n.isactive AND n.hasmetadata AND n.metadatasynced
    ORDER BY 1";

/// Which node this is, and which cluster: a worker's name may mean another machine here than it does to the coordinator.
const WHO: &str = "
    SELECT (SELECT groupid FROM pg_catalog.pg_dist_local_group),
           (SELECT string_agg(format('%s %s:%s', groupid, nodename, nodeport), ' ' ORDER BY nodeid)
            FROM pg_catalog.pg_dist_node)";

/// Set for sessions on workers, in addition to what every session for events has. All statements there have one good plan.
const SETTINGS: &str = "-c plan_cache_mode=force_generic_plan";

/// How long everything goes through the coordinator after something on a worker went wrong.
const PAUSE: Duration = Duration::from_secs(5);

/// The workers that this process can reach.
pub(crate) struct Workers {
    coordinator: Runner,
    options: Arc<Options>,
    /// By host and port. Kept, so that the number of lost connections only grows.
    runners: Mutex<HashMap<(String, u16), Runner>>,
    known: Mutex<Known>,
}

struct Known {
    shards: Option<Arc<Shards>>,
    /// When the shards are looked up again, if some are missing.
    again_at: Instant,
}

/// Where the shards are that can be written directly.
#[derive(Default)]
pub(crate) struct Shards {
    pub(crate) workers: Vec<Runner>,
    pub(crate) all: Vec<Shard>,
    by_bucket: HashMap<i16, usize>,
}

/// The shards of one range of buckets.
pub(crate) struct Shard {
    /// The index of its worker.
    pub(crate) worker: usize,
    /// The shard of `hapax.ledger`, whose lock stands for all.
    pub(crate) id: i64,
    pub(crate) events: i64,
    pub(crate) work: i64,
    pub(crate) tallies: i64,
    buckets: Vec<i16>,
    /// The texts of the statements that write events with and without deliveries, once they were needed.
    pub(crate) texts: [OnceLock<String>; 2],
}

impl Shard {
    /// The bucket of a connection's sums.
    pub(crate) fn slot(&self, connection: i16) -> i16 {
        let at = connection.unsigned_abs() as usize % self.buckets.len().max(1);
        self.buckets.get(at).copied().unwrap_or_default()
    }
}

impl Shards {
    /// The index of the shard that has a bucket.
    pub(crate) fn of(&self, bucket: i16) -> Option<usize> {
        self.by_bucket.get(&bucket).copied()
    }

    fn has_all(&self) -> bool {
        crate::rows::BUCKETS
            .into_iter()
            .all(|bucket| self.by_bucket.contains_key(&bucket))
    }
}

/// A row of [`SHARDS`].
struct Placement {
    bucket: i16,
    ids: [i64; 4],
    worker: (String, u16),
    group: i32,
}

/// What the coordinator says: its placements, and [`WHO`] knows which nodes.
type Described = (Vec<Placement>, Option<String>);

impl Workers {
    /// Looks up the shards and connects to the workers.
    pub(crate) async fn find(coordinator: &Runner, options: &Arc<Options>) -> Arc<Self> {
        let workers = Arc::new(Self {
            coordinator: coordinator.clone(),
            options: Arc::clone(options),
            runners: Mutex::default(),
            known: Mutex::new(Known {
                shards: None,
                again_at: Instant::now() + PAUSE,
            }),
        });
        Box::pin(workers.look()).await;
        workers
    }

    /// The shards that can be written directly now.
    pub(crate) fn shards(self: &Arc<Self>) -> Option<Arc<Shards>> {
        let mut known = self.known.lock();
        let lacks_some = known.shards.as_ref().is_none_or(|shards| !shards.has_all());
        if lacks_some && known.again_at <= Instant::now() {
            known.again_at = Instant::now() + PAUSE;
            let workers = Arc::clone(self);
            tokio::spawn(async move { workers.look().await });
        }
        known.shards.clone()
    }

    /// Stops using these shards until they were looked up again.
    pub(crate) fn distrust(&self, shards: &Arc<Shards>) {
        let mut known = self.known.lock();
        if known
            .shards
            .as_ref()
            .is_some_and(|used| Arc::ptr_eq(used, shards))
        {
            known.shards = None;
            known.again_at = Instant::now() + PAUSE;
        }
    }

    /// The number of connections that replaced lost ones.
    pub(crate) fn epoch(&self) -> u64 {
        self.runners
            .lock()
            .values()
            .map(|runner| runner.pool.epoch())
            .sum()
    }

    async fn look(&self) {
        let found = self
            .coordinator
            .run(&(), |session, ()| describe(session).boxed())
            .await;
        let (placements, nodes) = match found {
            Ok(found) => found,
            Err(failure) => {
                tracing::debug!(%failure, "the shards cannot be looked up");
                return;
            }
        };
        let mut by_worker: BTreeMap<(String, u16), Vec<Placement>> = BTreeMap::new();
        for placement in placements {
            by_worker
                .entry(placement.worker.clone())
                .or_default()
                .push(placement);
        }
        let reached = join_all(by_worker.into_iter().map(|(worker, placements)| {
            let expected = (
                placements.first().map_or(0, |placement| placement.group),
                nodes.clone(),
            );
            async move { Some((self.reach(&worker, expected).await?, placements)) }
        }));
        let mut shards = Shards::default();
        for (runner, placements) in reached.await.into_iter().flatten() {
            shards.add(runner, placements);
        }
        let mut known = self.known.lock();
        known.shards = (!shards.all.is_empty()).then(|| Arc::new(shards));
    }

    /// Connects to a worker, if it is the one that the coordinator means.
    async fn reach(&self, worker: &(String, u16), expected: (i32, Option<String>)) -> Option<Runner> {
        let runner = self.runner(worker)?;
        let who = runner.run(&(), |session, ()| who(session).boxed()).await;
        let (host, port) = worker;
        match who {
            Ok(Some(found)) if found == expected => Some(runner),
            Ok(_) => {
                tracing::warn!(
                    host,
                    port,
                    "this address does not lead directly to the worker of this name; its events are written through \
                     the coordinator"
                );
                None
            }
            Err(failure) => {
                tracing::warn!(
                    host,
                    port,
                    error = %failure,
                    "a worker cannot be reached; its events are written through the coordinator"
                );
                None
            }
        }
    }

    fn runner(&self, worker: &(String, u16)) -> Option<Runner> {
        let mut runners = self.runners.lock();
        if let Some(runner) = runners.get(worker) {
            return Some(runner.clone());
        }
        let options = &self.options;
        let url = crate::url::at_host(options.url.expose(), &worker.0, worker.1);
        let connector =
            Connector::new(&Secret::new(url), options.connect_timeout, options.step_timeout).ok()?;
        let maker = Arc::new(Maker::new(connector.preparing(options.preparing)));
        let settings = format!("{} {SETTINGS}", Terms::of_session(options));
        let pool = Pool::new(&maker, "events", settings, options.connections_max, options);
        let runner = Runner {
            pool: Arc::new(pool),
            ..self.coordinator.clone()
        };
        runners.insert(worker.clone(), runner.clone());
        Some(runner)
    }
}

impl Shards {
    fn add(&mut self, runner: Runner, placements: Vec<Placement>) {
        let worker = self.workers.len();
        self.workers.push(runner);
        for placement in placements {
            let [id, events, work, tallies] = placement.ids;
            let found = self.all.iter().position(|shard| shard.id == id);
            let at = found.unwrap_or_else(|| {
                self.all.push(Shard {
                    worker,
                    id,
                    events,
                    work,
                    tallies,
                    buckets: Vec::new(),
                    texts: Default::default(),
                });
                self.all.len() - 1
            });
            self.by_bucket.insert(placement.bucket, at);
            if let Some(shard) = self.all.get_mut(at) {
                shard.buckets.push(placement.bucket);
            }
        }
    }
}

/// Asks the coordinator. A pooler in front of it would be passed by, so nothing is then written directly.
async fn describe(session: &Session) -> Result<Described, Failure> {
    let Some((_, nodes)) = who(session).await? else {
        return Ok((Vec::new(), None));
    };
    let mut placements = Vec::new();
    for row in session.rows(SHARDS, &[]).await? {
        placements.push(Placement {
            bucket: row.try_get(0)?,
            ids: [row.try_get(1)?, row.try_get(2)?, row.try_get(3)?, row.try_get(4)?],
            worker: (
                row.try_get(5)?,
                u16::try_from(row.try_get::<_, i32>(6)?).unwrap_or_default(),
            ),
            group: row.try_get(7)?,
        });
    }
    // A bucket with several placements is replicated, and only Citus keeps replicas equal.
    let mut seen: HashMap<i16, usize> = HashMap::new();
    for placement in &placements {
        *seen.entry(placement.bucket).or_default() += 1;
    }
    placements.retain(|placement| seen.get(&placement.bucket) == Some(&1));
    Ok((placements, nodes))
}

/// Which node this is; nothing if the connection does not lead directly to it.
async fn who(session: &Session) -> Result<Option<(i32, Option<String>)>, Failure> {
    if !session.is_set() {
        return Ok(None);
    }
    let row = session.one(WHO, &[]).await?;
    let group: Option<i32> = row.try_get(0)?;
    Ok(group.zip(Some(row.try_get(1)?)))
}
