//! One or two services, everything they need, and all observations of them.

use std::sync::Arc;
use std::time::Duration;

use hapax_fail_points::{FOLDER, KILL_FILE};
use hapax_test_postgres::{Database, Server};
use hapax_test_redis::{Server as Redis, fresh_prefix};

use super::books::Books;
use super::checker::{self, Findings};
use super::history::{DestinationKind, Seen};
use super::link::{self, Link};
use super::load::{Load, Log};
use super::release::{Release, UNKNOWN_KEYS};
use super::{report, stores};
use hapax_testkit::{Received, Reply, Service, Setup, Sink, eventually};

/// The limit for processing everything.
pub(super) const LIMIT: Duration = Duration::from_secs(90);
/// Short, so that another worker takes over soon. Every failure is one that the test causes: no attempt limit may be
/// within reach.
const DESTINATION: &str = "max_attempts = 100\nlease = \"2s\"\ntimeout = \"1500ms\"\n\
                           backoff = { first = \"20ms\", cap = \"200ms\" }";
/// Replicas on a server. SQLite has one process.
const REPLICAS: usize = 2;

/// A source whose events go nowhere: only its responses count.
pub(super) const QUIET: &str = "quiet";

/// One process, and its link to the database.
pub(super) struct Replica {
    pub(super) service: Service,
    pub(super) link: Option<Link>,
}

/// The whole world. The fields are dropped in this order: first the processes, then what they use.
pub(super) struct World {
    pub(super) replicas: Vec<Replica>,
    pub(super) sink: Sink,
    pub(super) log: Arc<Log>,
    books: Books,
    ground: Ground,
}

/// The store's database.
enum Ground {
    Sqlite,
    Postgres { store: Database, server: Server },
    Redis { prefix: String, server: Redis },
}

impl World {
    /// One process with a file.
    pub(super) async fn on_sqlite() -> Self {
        Self::release_on_sqlite(Release::This).await
    }

    pub(super) async fn release_on_sqlite(release: Release) -> Self {
        Self::build(Ground::Sqlite, Books::sqlite(), release).await
    }

    /// Two processes on a server, each with its own link.
    pub(super) async fn on_postgres(server: Server) -> Self {
        Self::release_on_postgres(Release::This, server).await
    }

    pub(super) async fn release_on_postgres(release: Release, server: Server) -> Self {
        let (store, books) = (server.database().await.unwrap(), server.database().await.unwrap());
        let books = Books::postgres(books).await;
        Self::build(Ground::Postgres { store, server }, books, release).await
    }

    /// Two processes on a Redis, each with its own link; the application's database is PostgreSQL.
    pub(super) async fn on_redis(server: Redis) -> Self {
        Self::release_on_redis(Release::This, server).await
    }

    pub(super) async fn release_on_redis(release: Release, server: Redis) -> Self {
        let books = Server::shared().unwrap().database().await.unwrap();
        let books = Books::postgres(books).await;
        let prefix = fresh_prefix();
        Self::build(Ground::Redis { prefix, server }, books, release).await
    }

    /// The same on the server that all tests share.
    pub(super) async fn on_shared_redis() -> Self {
        Self::on_redis(Redis::shared().unwrap()).await
    }

    async fn build(ground: Ground, books: Books, release: Release) -> Self {
        let sink = Sink::that(unreliable).await;
        let mut replicas = Vec::new();
        match &ground {
            Ground::Sqlite => {
                let setup = setup(&sink, &books.url(), release);
                replicas.push(Replica {
                    service: setup.spawn(),
                    link: None,
                });
            }
            Ground::Postgres { store, server } => {
                for _ in 0..REPLICAS {
                    let link = Link::to_port(server.port(), link::POSTGRES).await;
                    let Books::Postgres(database) = &books else {
                        unreachable!("both are on one server");
                    };
                    let setup = setup(&sink, &link.url(database.name()), release);
                    replicas.push(Replica {
                        service: setup.database(&link.url(store.name())).spawn(),
                        link: Some(link),
                    });
                }
            }
            Ground::Redis { prefix, server } => {
                for _ in 0..REPLICAS {
                    let link = Link::to_port(server.port(), link::REDIS).await;
                    let store = format!("redis://127.0.0.1:{}/0?prefix={prefix}", link.port());
                    replicas.push(Replica {
                        service: setup(&sink, &books.url(), release).database(&store).spawn(),
                        link: Some(link),
                    });
                }
            }
        }
        for replica in &mut replicas {
            replica.service.until_ready().await;
        }
        Self {
            replicas,
            sink,
            log: Arc::default(),
            books,
            ground,
        }
    }

    /// Clients and an application, until they are stopped.
    pub(super) fn load(&self) -> Load {
        let addresses = self
            .replicas
            .iter()
            .map(|replica| replica.service.address())
            .collect();
        Load::start(Arc::clone(&self.log), addresses, self.books.writer())
    }

    /// Makes a replica die at a point when it is reached for the given time.
    pub(super) fn order_kill(&self, replica: usize, point: &str, count: u32) {
        let order = self.replicas[replica].service.setup.path().join(KILL_FILE);
        std::fs::write(order, format!("{point} {count}")).unwrap();
    }

    /// The server, to be broken.
    pub(super) fn server(&self) -> &Server {
        match &self.ground {
            Ground::Postgres { server, .. } => server,
            Ground::Sqlite | Ground::Redis { .. } => panic!("the store is not on PostgreSQL"),
        }
    }

    /// The Redis, to be broken.
    pub(super) fn redis(&self) -> &Redis {
        match &self.ground {
            Ground::Redis { server, .. } => server,
            Ground::Sqlite | Ground::Postgres { .. } => panic!("the store is not on Redis"),
        }
    }

    pub(super) const fn store_name(&self) -> &'static str {
        match self.ground {
            Ground::Sqlite => "SQLite",
            Ground::Postgres { .. } => "PostgreSQL, two replicas",
            Ground::Redis { .. } => "Redis, two replicas",
        }
    }

    /// Waits until there are no unfinished deliveries, and takes a snapshot.
    pub(super) async fn settle(&self) {
        eventually("the backlog is worked off", LIMIT, async || {
            let looked = self.look().await;
            let Seen::Stored(all) = &looked else { return None };
            let done = all.values().all(|stored| stored.state.is_finished());
            done.then(|| self.log.add(looked))
        })
        .await;
    }

    /// Everything that the store holds.
    async fn look(&self) -> Seen {
        match &self.ground {
            Ground::Sqlite => stores::look_at_file(&self.replicas[0].service.setup.store_path()),
            Ground::Postgres { store, .. } => stores::look_at_database(store).await,
            Ground::Redis { prefix, server } => stores::look_at_redis(server, prefix),
        }
    }

    /// Adds a snapshot to the history, whatever is in progress.
    pub(super) async fn glance(&self) {
        let looked = self.look().await;
        self.log.add(looked);
    }

    /// Waits for everything to finish, runs the checker, and writes the report.
    pub(super) async fn verdict(self, fault: &str, injected: usize) {
        eventually("every row of the outbox is relayed", LIMIT, async || {
            self.books.is_relayed().await.then_some(())
        })
        .await;
        self.settle().await;
        let mut history = self.log.take();
        let is_seen = |seen: &Seen| matches!(seen, Seen::Stored(all) if !all.is_empty());
        assert!(history.iter().any(is_seen), "a look at the store shows something");
        for received in self.sink.received() {
            history.push(Seen::Attempted {
                event: received.event_id,
                key: received.key,
            });
        }
        let applied = |event, at| Seen::Applied { event, at };
        let sink = self.sink.order_applied().into_iter();
        history.extend(sink.map(|event| applied(event, DestinationKind::App)));
        let books = self.books.effects().await.into_iter();
        history.extend(books.map(|event| applied(event, DestinationKind::Books)));
        let findings: Findings = checker::check(&history);
        report::write(fault, self.store_name(), injected, &history, &findings);
        assert!(findings.is_clean(), "{findings:#?}");
    }
}

fn setup(sink: &Sink, books: &str, release: Release) -> Setup {
    let setup = Setup::new();
    release.install(setup.path());
    setup
        // A process that writes beyond its limit gets this signal, which would end it. And a memory limit only works if
        // the allocator does not reserve memory in advance.
        .before(&format!(
            "trap '' XFSZ\nexport MIMALLOC_DISALLOW_ARENA_ALLOC=1 {FOLDER}=\"$PWD\"\n\
             if [ -e {UNKNOWN_KEYS} ]; then\n\
             grep -v -f {UNKNOWN_KEYS} hapax.toml >known.toml && exec ./hapax -c known.toml serve\nfi\n\
             exec ./hapax serve"
        ))
        .source("orders", "github", "deliver_to = [\"app\", \"books\"]")
        .source("prompt", "github", "deliver_to = [\"books\"]\nack = \"processed\"")
        .source("lanes", "github", "deliver_to = [\"books\"]")
        .source(QUIET, "github", "")
        .http("app", &sink.url(), DESTINATION)
        .table(&format!(
            "[destinations.books]\nkind = \"sql\"\nurl = \"{books}\"\n{DESTINATION}\norder_by = \"body:/lane\"\n\
             params = {{ event = \"body:/id\" }}\nstatements = [\"insert into effects (event) values (:event)\"]\n"
        ))
        .table(&format!(
            "[outbox.shop]\nurl = \"{books}\"\npoll = \"50ms\"\nbatch = 20\nallow_targets = [\"127.0.0.1\"]\n"
        ))
}

/// A destination that occasionally fails, disconnects after applying, or is slow.
fn unreliable(received: &Received) -> Reply {
    let digit = received.key.bytes().last().unwrap_or_default();
    match (digit, received.nth) {
        (b'0', 1 | 2) => Reply::Status(500),
        (b'1', 1) => Reply::DropAfterApplying,
        (b'2', 1) => Reply::Slow(Duration::from_millis(20), 200),
        _ => Reply::Status(200),
    }
}
