//! The source and the target of a migration, and whether it may begin.

use std::sync::Arc;

use hapax_core::store::{ImportBegun, ImportMark, MigrationCursor, Purpose};
use hapax_core::{Backend, Clock, DeliveryState};

use super::Args;
use crate::exit::CliError;
use crate::globals::Globals;
use hapax_config::{self as config, Encryption, Environment, StoreUrl};
use hapax_server::OpenStore;

/// Expired leases to release in one call.
const RESCUE_LIMIT: u32 = 1_000;

pub(super) struct BothStores {
    pub(super) from: StoreUrl,
    pub(super) to: StoreUrl,
    pub(super) source: OpenStore,
    pub(super) target: OpenStore,
}

/// How a migration begins.
pub(super) enum Begun {
    Anew,
    /// Where an earlier run stopped.
    Again(MigrationCursor),
}

impl BothStores {
    pub(super) async fn open(
        args: &Args,
        globals: &Globals,
        clock: &Arc<dyn Clock>,
    ) -> Result<Self, CliError> {
        let environment = Environment::beside(&globals.config)?;
        let configured = match &args.from {
            // The configuration may be on another machine.
            Some(_) if !globals.config.exists() => None,
            Some(_) | None => Some(config::load(&globals.config, &environment, &[])?.store),
        };
        let from = match (&args.from, &configured) {
            (Some(from), _) => from.clone(),
            (None, Some(store)) => store.url.clone(),
            (None, None) => {
                return Err(CliError::usage(
                    "--from is missing: set it to the store to migrate",
                ));
            }
        };
        let configured = configured.and_then(|store| store.encryption);
        let keys = |given: &Option<Vec<String>>| match given {
            Some(references) => {
                Encryption::from_references(references, &environment).map_err(CliError::usage)
            }
            None => Ok(configured.clone()),
        };
        let (from_keys, to_keys) = (keys(&args.from_keys)?, keys(&args.to_keys)?);
        if from == args.to {
            return Err(CliError::usage(
                "--to is the store to migrate from: choose another target",
            ));
        }
        if let StoreUrl::Sqlite(path) = &from
            && !path.exists()
        {
            // Opening the store would create it.
            return Err(CliError::not_found(format!(
                "there is no store at {from}: nothing to migrate"
            )));
        }
        let source = OpenStore::open_to_copy(&from, from_keys.as_ref(), clock, Purpose::Serve).await?;
        let target = match OpenStore::open_to_copy(&args.to, to_keys.as_ref(), clock, Purpose::Import).await {
            Ok(target) => target,
            Err(error) => {
                source.close().await;
                return Err(error.into());
            }
        };
        Ok(Self {
            from,
            to: args.to.clone(),
            source,
            target,
        })
    }

    /// Marks the target, or finds this migration's mark.
    pub(super) async fn begin(&self, target: &dyn Backend, mark: &ImportMark) -> Result<Begun, CliError> {
        let to = &self.to;
        match target.begin_import(mark).await? {
            ImportBegun::Started => Ok(Begun::Anew),
            ImportBegun::Occupied => Err(CliError::failed(format!(
                "{to} is not empty: a migration needs an empty target; choose another one, or empty it if its content \
                 is not needed"
            ))),
            ImportBegun::Unfinished(found) if found.origin != mark.origin => Err(CliError::failed(format!(
                "{to} is an unfinished migration of another store than {}: resume that migration, or empty {to}",
                self.from
            ))),
            ImportBegun::Unfinished(found) if found.census != mark.census => Err(CliError::failed(format!(
                "{} was changed since the migration into {to} began, so migrated data may be out of date: empty {to}, \
                 and migrate again without running the service",
                self.from
            ))),
            ImportBegun::Unfinished(found) => Ok(Begun::Again(found.reached)),
        }
    }

    pub(super) async fn close(&self) {
        self.source.close().await;
        self.target.close().await;
    }
}

/// Refuses while a service uses the source. A file is locked by its service; a database shows one by leases that have
/// not expired.
pub(super) async fn refuse_while_served(source: &dyn Backend) -> Result<(), CliError> {
    while !source.rescue(RESCUE_LIMIT).await?.is_empty() {}
    let counts = source.counts().await?;
    let running: u64 = counts
        .backlog
        .iter()
        .filter(|backlog| backlog.state == DeliveryState::Running)
        .map(|backlog| backlog.count)
        .sum();
    if running == 0 {
        return Ok(());
    }
    Err(CliError::failed(format!(
        "{running} deliveries are running, so a service still uses the store: stop every `hapax serve` on it, and run \
         this again (deliveries of a killed service are released when their leases expire, after 60 s by default)"
    )))
}
