//! Any store behind encryption: it keeps every law, and the inner store never sees plain text.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use hapax_core::{Backend, Secret, Timestamp};
use hapax_seal::{Keys, Reencrypted, Sealed, Writes};
use parking_lot::Mutex;

use crate::Subject;
use crate::bench::Must;
use crate::marks::leave_marks;

/// Encrypts the contents of another subject's stores.
pub struct SealedSubject<S> {
    inner: S,
    /// The inner store, so that it can be crashed separately.
    open: Mutex<Option<Arc<dyn Backend>>>,
}

impl<S: Subject> SealedSubject<S> {
    pub fn new(inner: S) -> Self {
        Self {
            inner,
            open: Mutex::new(None),
        }
    }

    fn taken(&self) -> Option<Arc<dyn Backend>> {
        self.open.lock().take()
    }

    async fn seal(&self, store: Arc<dyn Backend>) -> Arc<dyn Backend> {
        let texts = [Secret::new("the key of the laws, for every one of them")];
        let keys = Keys::new(Writes::Sealed, &texts).must();
        let opened = Arc::clone(&store);
        *self.open.lock() = Some(opened);
        Arc::new(Sealed::open(store, keys).await.must())
    }
}

#[async_trait]
impl<S: Subject> Subject for SealedSubject<S> {
    async fn fresh(&self) -> Arc<dyn Backend> {
        drop(self.taken());
        self.seal(self.inner.fresh().await).await
    }

    async fn reopen(&self, crashed: Arc<dyn Backend>) -> Arc<dyn Backend> {
        drop(crashed);
        let crashed = self.taken().must();
        self.seal(self.inner.reopen(crashed).await).await
    }

    async fn now(&self) -> Timestamp {
        self.inner.now().await
    }

    async fn pass(&self, duration: Duration) {
        self.inner.pass(duration).await;
    }

    fn short_lease(&self) -> Duration {
        self.inner.short_lease()
    }
}

/// Turns encryption on in a store that has been in use, and rotates its key. Each time a walk moves everything to the
/// first key; afterwards no other key is needed, neither for reading nor for recognising a duplicate.
pub async fn turn_on_and_rotate(store: &Arc<dyn Backend>) {
    let marks = leave_marks(&**store).await;
    let (old, new) = (
        "the old key of a rotation, long enough",
        "the new key of a rotation, long enough",
    );
    for (hour, keys) in (1..).zip([&[old][..], &[new, old], &[new]]) {
        let opened = open(store, keys).await;
        marks.read_back(&opened).await;
        re_encrypt(&opened, Timestamp::from_seconds(hour * 3_600)).await;
        marks.read_back(&opened).await;
        marks.find_by_index(&opened).await;
        assert_eq!(opened.rows().keys.len(), 1, "of the keys {keys:?}");
        assert!(!opened.rows().plain);
        let counted = opened.counted().await.must().must();
        assert_eq!(counted.others(opened.writes_with()), 0);
        assert!(
            counted.values[&opened.writes_with().to_string()] >= 3,
            "{counted:?}"
        );
    }
}

async fn open(store: &Arc<dyn Backend>, keys: &[&str]) -> Sealed {
    let keys: Vec<Secret> = keys.iter().map(|key| Secret::new(*key)).collect();
    let keys = Keys::new(Writes::Sealed, &keys).must();
    Sealed::open(Arc::clone(store), keys).await.must()
}

/// Walks until there is nothing left to do, all at this time.
pub async fn re_encrypt(store: &Sealed, now: Timestamp) {
    while store.reencrypt(now).await.must() != Reencrypted::Nothing {}
}
