//! Migrating the store under test into a fresh one of its kind.

use std::sync::Arc;

use hapax_core::Backend;
use hapax_core::store::{ImportBegun, ImportMark, MigrationCursor, Record};

use super::{ALL, Bench, Must};
use crate::{ManualClock, MemoryStore};

impl Bench {
    /// Continues with a migrated store, in a fresh one.
    pub async fn copied(&mut self) {
        let (mark, pages) = exported(&*self.store, ALL).await;
        self.afresh().await;
        import(&*self.store, &mark, pages).await;
    }

    /// Continues with a store migrated twice: through the model, which is another kind of store.
    pub async fn copied_by_way_of_the_model(&mut self) {
        let model: Arc<dyn Backend> = Arc::new(MemoryStore::new(Arc::new(ManualClock::new())));
        let (mark, pages) = exported(&*self.store, ALL).await;
        import(&*model, &mark, pages).await;
        let (mark, pages) = exported(&*model, ALL).await;
        self.afresh().await;
        import(&*self.store, &mark, pages).await;
    }

    /// Continues with an empty store.
    pub async fn afresh(&mut self) {
        self.store = self.subject.fresh().await;
    }

    /// Everything the store exports.
    pub async fn records(&self) -> Vec<Record> {
        let (_, pages) = exported(&*self.store, ALL).await;
        pages.into_iter().flat_map(|(records, _)| records).collect()
    }
}

/// Pages, each with the migration's position after it.
pub type Pages = Vec<(Vec<Record>, MigrationCursor)>;

/// Reads a store to its end, in pages of `limit`.
pub async fn exported(store: &dyn Backend, limit: u32) -> (ImportMark, Pages) {
    let mark = ImportMark {
        origin: store.origin().await.must(),
        census: store.census().await.must(),
        reached: MigrationCursor::START,
    };
    let mut pages = Vec::new();
    let mut at = MigrationCursor::START;
    loop {
        let page = store.export(&at, limit).await.must();
        assert!(
            page.records.len() <= limit as usize,
            "the limit of a page is respected"
        );
        let end = page.next.is_none();
        at = page.next.unwrap_or(at);
        pages.push((page.records, at.clone()));
        if end {
            return (mark, pages);
        }
    }
}

/// Imports pages into an empty store and removes the mark.
pub async fn import(store: &dyn Backend, mark: &ImportMark, pages: Pages) {
    assert_eq!(store.begin_import(mark).await.must(), ImportBegun::Started);
    for (records, reached) in pages {
        store.import(records, &reached).await.must();
    }
    store.finish_import().await.must();
}
