//! The whole service: store, engine, destinations and both listeners, started, reloaded and stopped as one.
//!
//! ```text
//! SIGHUP, or
//! a new secret  ──► reload   sources and destinations are swapped; no request is dropped
//! SIGTERM, ^C   ──► stop     not ready ─► no new connections ─► requests end ─► attempts end ─► store closed
//! ```

mod alerts;
mod encryption;
mod files;
mod listener;
mod reload;
mod run;
mod secrets;
pub mod signals;
mod store;
mod supervisor;
mod tls;
mod traffic;
mod tuning;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use hapax_core::{Clock, DestinationId, SystemRandom};
use hapax_engine::{Engine, TokioRuntime};
use hyper_util::service::TowerToHyperService;
use parking_lot::Mutex;

use hapax_admin::{self as admin, AdminState, IdentityProvider, Readiness, Settings};
use hapax_alerts::Alerts;
use hapax_api::views::Phase;
use hapax_config::Config;
use hapax_delivery::destination::{Destinations, SetupError, kind, routing, targets};
use hapax_delivery::outbox::Outboxes;
use hapax_ingest::earlier_ids::EarlierIds;
use hapax_ingest::keys::KeyFetcher;
use hapax_ingest::{self as ingest, Ingest, Sources};
use hapax_listen::{self as listen, BindError};
use hapax_outbound::client::{Client, TlsError};
use hapax_outbound::lookup::Lookup;
use hapax_telemetry::traces::{self, Exporting, SpanTarget};
use hapax_telemetry::{Metrics, Tracer, Watch};

use listener::Listener;
pub use run::run;
pub use store::{Kind, OpenStore, StoreError};
use tls::Fronts;
pub use tuning::Tuning;

/// How long attempts may take to finish when the service stops; unfinished ones are then returned to the queue without
/// counting as an attempt.
const ATTEMPTS_DRAIN: Duration = Duration::from_secs(8);
/// How long responses of the admin port may take to finish.
const ADMIN_DRAIN: Duration = Duration::from_secs(1);
/// How long webhook requests in progress may take to finish.
const INGEST_DRAIN: Duration = Duration::from_secs(6);
/// The limit for the whole shutdown; after that the process exits as if it had crashed, which loses nothing either.
pub const STOP_LIMIT: Duration = Duration::from_secs(20);
/// The most connections to the admin port.
const ADMIN_CONNECTIONS_MAX: usize = 256;

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Bind(#[from] BindError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the store was opened and then failed")]
    Engine(#[from] hapax_core::store::Error),
    /// TLS for outgoing connections cannot be set up.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// A certificate, key or certificate authority of a listener cannot be used.
    #[error(transparent)]
    ListenerTls(#[from] listen::TlsError),
    #[error(transparent)]
    Destination(#[from] SetupError),
    /// The exporter of spans cannot be set up.
    #[error(transparent)]
    Traces(#[from] traces::SetupError),
    #[error("a listener's own address cannot be read")]
    Address(#[source] std::io::Error),
    #[error("signal handlers cannot be installed")]
    Signals(#[source] std::io::Error),
}

pub struct Server {
    engine: Engine,
    outboxes: Arc<Outboxes>,
    store: OpenStore,
    ingest: Ingest,
    destinations: Arc<Destinations>,
    client: Client,
    metrics: Arc<Metrics>,
    settings: Arc<ArcSwap<Settings>>,
    readiness: Readiness,
    clock: Arc<dyn Clock>,
    traffic: traffic::Writer,
    reencryption: Option<encryption::Reencryption>,
    alerts: Arc<Alerts>,
    alert_loop: alerts::AlertLoop,
    tracer: Tracer,
    exporting: Option<Exporting>,
    config: Mutex<Config>,
    ingest_listener: Listener,
    admin_listener: Listener,
    fronts: Fronts,
    /// Watches for new certificates as long as it is held.
    _certificates: tls::Watching,
}

impl Server {
    /// Starts everything. When this returns, both ports accept requests.
    pub async fn start(config: Config, tuning: Tuning) -> Result<Self, StartError> {
        let clock = tuning.clock;
        let started_at = clock.now();
        let ingest_socket = listen::bind(config.server.listen, "server.listen")?;
        let admin_socket = listen::bind(config.server.admin_listen, "server.admin_listen")?;
        let store = OpenStore::open_to_serve(&config, &clock).await?;
        for warning in store.warnings() {
            tracing::warn!("{warning}");
        }
        let metrics = Arc::new(Metrics::new(Arc::clone(&clock)));
        know(&metrics, &config);
        let fronts = Fronts::new(&config.server, &metrics)?;
        let keys = KeyFetcher::new(
            &tuning.lookup,
            config.server.key_server.clone(),
            Arc::clone(&clock),
        )?;
        let (tracer, exporting) = trace(&config, &tuning.lookup, &metrics)?;
        let listen = ingest_socket.local_addr().map_err(StartError::Address)?;
        let admin_listen = admin_socket.local_addr().map_err(StartError::Address)?;
        let client = Client::new(tuning.lookup)?.listening_on(vec![listen, admin_listen]);
        let targets = targets(&config, &client, &clock, tracer.propagation())?;
        let destinations = Arc::new(Destinations::new(targets));
        let random = Arc::new(SystemRandom::new());
        let parts = hapax_engine::Parts {
            store: store.backend(),
            clock: Arc::clone(&clock),
            random: random.clone(),
            runtime: Arc::new(TokioRuntime),
            transport: destinations.clone(),
            observer: Arc::new(Watch::new(Arc::clone(&metrics), tracer.clone())),
        };
        let limits = hapax_engine::Limits {
            accept_in_flight: store.accepts_in_flight(),
            accept_full: store.full_accept(),
            ..tuning.engine
        };
        let engine = Engine::start(parts, routing(&config), limits).await?;
        let outboxes = Arc::new(Outboxes::new(
            engine.clone(),
            Arc::clone(&clock),
            tracer.clone(),
            Arc::clone(&metrics),
        ));
        let earlier_ids = EarlierIds::read(&*store.backend(), &config, started_at).await?;
        let ingest = Ingest::new(ingest::Parts {
            engine: engine.clone(),
            sources: Sources::of(&config, &earlier_ids, &metrics),
            metrics: Arc::clone(&metrics),
            clock: Arc::clone(&clock),
            random,
            limits: tuning.ingest,
            keys,
            tracer: tracer.clone(),
        });
        let settings = Arc::new(ArcSwap::from_pointee(shown(&config, listen)));
        let readiness = Readiness::default();
        let alerts = Arc::new(Alerts::new(
            hapax_alerts::Parts {
                store: store.backend(),
                metrics: Arc::clone(&metrics),
                clock: Arc::clone(&clock),
                client: client.clone(),
                outboxes: Some(Arc::clone(&outboxes)),
            },
            &config,
        )?);
        let meter = metrics.clone();
        let state = AdminState::new(
            engine.clone(),
            Arc::clone(&settings),
            meter,
            readiness.clone(),
            started_at,
        )
        .with_outboxes(Arc::clone(&outboxes))
        .with_alerts(Arc::clone(&alerts))
        .with_identity_provider(IdentityProvider::new(client.clone(), Arc::clone(engine.clock())))
        .with_encryption(store.sealed().cloned());
        let ingest_limits = listen::Limits {
            keep_alive: config.server.keep_alive,
            ..tuning.listen
        };
        let admin_limits = listen::Limits {
            connections_max: ADMIN_CONNECTIONS_MAX,
            keep_alive: config.server.keep_alive,
            drain: ADMIN_DRAIN,
            ..listen::Limits::default()
        };
        let router = admin::router(state.clone(), hapax_dashboard::router(&state));
        let admin_service = listen::WithPeer(TowerToHyperService::new(router));
        let admin_listener = Listener::start(admin_socket, |socket, stop| {
            let front = fronts.admin.clone();
            tokio::spawn(listen::serve(socket, admin_limits, front, admin_service, stop))
        })?;
        let ingest_service = ingest.service();
        let ingest_listener = Listener::start(ingest_socket, |socket, stop| {
            let front = fronts.ingest.clone();
            tokio::spawn(listen::serve(socket, ingest_limits, front, ingest_service, stop))
        })?;
        outboxes.reconfigure(&config);
        let traffic = traffic::Writer::start(store.backend(), Arc::clone(&metrics));
        let reencryption = store.sealed().map(|sealed| {
            encryption::Reencryption::start(Arc::clone(sealed), Arc::clone(&metrics), Arc::clone(&clock))
        });
        let alert_loop = alerts::AlertLoop::start(Arc::clone(&alerts));
        readiness.enter(Phase::Serving);
        Ok(Self {
            engine,
            outboxes,
            store,
            ingest,
            destinations,
            client,
            metrics,
            settings,
            readiness,
            clock,
            traffic,
            reencryption,
            alerts,
            alert_loop,
            tracer,
            exporting,
            config: Mutex::new(config),
            ingest_listener,
            admin_listener,
            _certificates: fronts.watch(),
            fronts,
        })
    }

    pub const fn ingest_address(&self) -> SocketAddr {
        self.ingest_listener.address
    }

    pub const fn admin_address(&self) -> SocketAddr {
        self.admin_listener.address
    }

    pub const fn engine(&self) -> &Engine {
        &self.engine
    }

    pub const fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    pub const fn alerts(&self) -> &Arc<Alerts> {
        &self.alerts
    }

    /// Stops the service: answers open requests, finishes or returns running attempts, closes the store.
    pub async fn stop(self) {
        self.readiness.enter(Phase::Stopping);
        self.ingest_listener.stop().await;
        self.outboxes.stop().await;
        let report = self.engine.shutdown(ATTEMPTS_DRAIN).await;
        tracing::info!(
            finished = report.finished,
            released = report.released,
            "attempts ended"
        );
        self.alert_loop.stop().await;
        self.admin_listener.stop().await;
        self.traffic.stop().await;
        if let Some(reencryption) = self.reencryption {
            reencryption.stop().await;
        }
        if let Some(exporting) = self.exporting {
            exporting.stop().await;
        }
        self.store.close().await;
    }
}

/// The configuration as the admin port shows it: with the address that was actually bound, for anyone who copies a
/// request.
fn shown(config: &Config, listen: SocketAddr) -> Settings {
    let mut config = config.clone();
    config.server.listen = listen;
    Settings::from(&config)
}

/// Starts the counters of everything that is configured at zero.
fn know(metrics: &Metrics, config: &Config) {
    let routing = routing(config);
    let windows = routing
        .sources
        .iter()
        .map(|(name, route)| (name, route.ledger_window));
    metrics.know(windows, routing.destinations.keys());
}

/// A tracer, and its background task if spans are exported.
fn trace(
    config: &Config,
    lookup: &Lookup,
    metrics: &Metrics,
) -> Result<(Tracer, Option<Exporting>), StartError> {
    let Some(settings) = &config.traces else {
        return Ok((Tracer::default(), None));
    };
    // Its own connections: a receiver that hangs must not use up those of destinations.
    let client = Client::new(lookup.clone())?;
    let (tracer, exporting) = Tracer::start(settings, client, metrics.spans().clone())?;
    tracer.know(places(config));
    tracing::info!(endpoint = %settings.endpoint, sample = settings.sample, "traces are exported");
    Ok((tracer, Some(exporting)))
}

/// The span attributes of each destination.
fn places(config: &Config) -> HashMap<DestinationId, SpanTarget> {
    let destinations = config.destinations.values();
    destinations
        .map(|destination| (destination.id.clone(), kind(destination).span_target()))
        .collect()
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("ingest", &self.ingest_address())
            .field("admin", &self.admin_address())
            .finish_non_exhaustive()
    }
}
