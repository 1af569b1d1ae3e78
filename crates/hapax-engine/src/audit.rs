//! Audit: writes operators' actions to the store's audit chain, and verifies the chain.

use hapax_core::store::{Actor, AuditCheck, AuditEntry, AuditHead, AuditVerified, Error};

use crate::engine::{Engine, Inner};
use crate::observe::Observation;

/// Entries read at a time.
const PAGE: u32 = 1_000;

impl Engine {
    /// Verifies the whole audit trail, against a head kept elsewhere if one is given.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn verify_audit(&self, kept: Option<AuditHead>) -> Result<AuditVerified, Error> {
        let store = &self.0.parts.store;
        let mut check = AuditCheck::new(store.audit_head().await?, kept);
        let mut after = None;
        loop {
            let (records, next) = store.audit(after, PAGE).await?;
            for record in &records {
                check.look(record);
            }
            match next {
                Some(next) => after = Some(next),
                None => return Ok(check.finish(store.audit_head().await?, self.0.parts.clock.now())),
            }
        }
    }

    /// Records an operator's action.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn record(&self, entry: AuditEntry) -> Result<(), Error> {
        self.0.record(entry).await
    }
}

impl Inner {
    pub(crate) async fn audit(
        &self,
        who: &Actor,
        action: &str,
        subject: String,
        detail: String,
    ) -> Result<(), Error> {
        self.record(who.entry(action, subject, detail)).await
    }

    async fn record(&self, entry: AuditEntry) -> Result<(), Error> {
        // Anyone who keeps the log elsewhere can prove the trail against it.
        let head = self.parts.store.record(entry).await?.head;
        self.observe(&Observation::AuditHead { head });
        Ok(())
    }
}
