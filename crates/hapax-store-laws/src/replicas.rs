//! What replicas of one store promise each other. The laws have one store open at a time; a store that several processes
//! can open runs these, too.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use hapax_core::store::{AcceptRequest, Candidates, Claim, LeaseOrder, Report, Written};
use hapax_core::{
    AttemptOutcome, Backend, DeliveryState, EventId, EventIds, Hold, Identity, Leased, NewEvent, Owner,
    SystemRandom,
};

use crate::bench::{Draft, LONG, Must};

const EVENTS: usize = 60;
const WORKERS: usize = 6;
const TO: &str = "billing";

/// Workers on two replicas run each delivery once.
pub async fn share_deliveries(replicas: [Arc<dyn Backend>; 2]) {
    let maker = Maker::default();
    for number in 0..EVENTS {
        let event = maker.event(&format!("evt_{number}"));
        let claim = accept(&*replicas[number % 2], &event).await;
        assert!(matches!(claim, Claim::New { .. }), "{claim:?}");
        let claim = accept(&*replicas[(number + 1) % 2], &event).await;
        assert!(
            matches!(&claim, Claim::Seen(entry) if entry.id == event.id),
            "{claim:?}"
        );
    }
    let workers: Vec<_> = (0..WORKERS)
        .map(|worker| tokio::spawn(work_off(Arc::clone(&replicas[worker % 2]))))
        .collect();
    let mut ran = Vec::new();
    for worker in workers {
        ran.extend(worker.await.must());
    }
    assert_eq!(ran.len(), EVENTS);
    assert_eq!(ran.iter().collect::<BTreeSet<_>>().len(), EVENTS, "each ran once");
}

/// Of many copies at once, spread over three replicas, one is new.
pub async fn take_one_of_many_duplicates(replicas: [Arc<dyn Backend>; 3], copies: usize) {
    let maker = Maker::default();
    let accepts: Vec<_> = (0..copies)
        .map(|copy| {
            let (replica, event) = (Arc::clone(&replicas[copy % 3]), maker.event("evt_1"));
            tokio::spawn(async move { accept(&*replica, &event).await })
        })
        .collect();
    let (mut new, mut firsts) = (0, BTreeSet::new());
    for accepted in accepts {
        match accepted.await.must() {
            Claim::New { .. } => new += 1,
            Claim::Seen(entry) => firsts.extend([entry.id]),
        }
    }
    assert_eq!((new, firsts.len()), (1, 1));
    assert_eq!(lease(&*replicas[0], 10).await.len(), 1);
}

/// A replica whose lease was taken over can neither extend nor finish it.
pub async fn fence_a_zombie([zombie, other]: [Arc<dyn Backend>; 2]) {
    let event = Maker::default().event("evt_1");
    for replica in [&zombie, &other] {
        accept(&**replica, &event).await;
    }
    let brief = LeaseOrder {
        lease_for: Duration::ZERO,
        ..order(1)
    };
    let stale = zombie.lease(brief).await.must().leased.remove(0);
    // Until the server's clock has advanced by a microsecond.
    while other.rescue(10).await.must().is_empty() {}
    let taken_over = LeaseOrder {
        owner: Owner(2),
        candidates: Candidates::Suspect,
        ..order(1)
    };
    let fresh = other.lease(taken_over).await.must().leased.remove(0);
    assert!(fresh.token > stale.token);
    let extended = zombie.extend(vec![stale.hold()], LONG).await.must();
    assert_eq!(extended, [Written::LeaseLost]);
    assert_eq!(finish(&*zombie, stale.hold()).await, [Written::LeaseLost]);
    assert_eq!(finish(&*other, fresh.hold()).await, [Written::Applied]);
}

/// Leases and completes deliveries until none is left. Returns their events.
async fn work_off(store: Arc<dyn Backend>) -> Vec<EventId> {
    let mut ran = Vec::new();
    loop {
        let leased = lease(&*store, 4).await;
        // Other replicas may have taken the chosen deliveries: it is finished when nothing is waiting.
        if leased.is_empty() && !is_waiting(&*store).await {
            return ran;
        }
        for leased in leased {
            assert_eq!(finish(&*store, leased.hold()).await, [Written::Applied]);
            ran.push(leased.event.id);
        }
    }
}

async fn is_waiting(store: &dyn Backend) -> bool {
    let counts = store.counts().await.must();
    counts.backlog.iter().any(|backlog| {
        backlog.destination.as_str() == TO && backlog.state == DeliveryState::Pending && backlog.count > 0
    })
}

async fn accept(store: &dyn Backend, event: &NewEvent) -> Claim {
    let events = vec![event.clone()];
    let mut answers = store.accept(vec![AcceptRequest { events }]).await;
    answers.remove(0).must().remove(0)
}

async fn lease(store: &dyn Backend, limit: u32) -> Vec<Leased> {
    store.lease(order(limit)).await.must().leased
}

fn order(limit: u32) -> LeaseOrder {
    LeaseOrder {
        owner: Owner(1),
        destination: TO.into(),
        limit,
        lease_for: LONG,
        candidates: Candidates::Fresh,
    }
}

async fn finish(store: &dyn Backend, hold: Hold) -> Vec<Written> {
    let report = Report {
        hold,
        attempt: None,
        outcome: AttemptOutcome::Completed,
    };
    store.finish(vec![report]).await.must()
}

/// Creates events with ids as one process does.
#[derive(Default)]
struct Maker {
    ids: EventIds,
    random: SystemRandom,
}

impl Maker {
    fn event(&self, event_id: &str) -> NewEvent {
        let identity = Identity::new("shop", event_id);
        Draft::new(&self.ids, &self.random, identity).to(TO).build()
    }
}
