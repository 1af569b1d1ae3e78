//! The audit trail: a list whose last chained entry is the head.

use hapax_core::Timestamp;
use hapax_core::store::{AUDIT_KEEP, AuditHead, expired_audit};

use super::state::State;

impl State {
    pub(super) fn audit_head(&self) -> AuditHead {
        let link = self.audit.iter().rev().find_map(|record| record.link);
        link.map(|link| link.head).unwrap_or_default()
    }

    pub(super) fn purge_audit(&mut self, now: Timestamp) {
        let oldest = (0..).zip(&self.audit);
        let oldest = oldest.map(|(index, record)| (index, record.at, record.link));
        for index in expired_audit(oldest, now.minus(AUDIT_KEEP)).into_iter().rev() {
            self.audit.remove(index);
        }
    }
}
