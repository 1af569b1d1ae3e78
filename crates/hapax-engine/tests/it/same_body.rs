//! `same_body = "hold"`: a known body under another id waits for an operator.

use futures_util::future::join_all;
use hapax_core::store::{EventQuery, ReplayMode, Replayed};
use hapax_core::{EventStatus, Generation};
use hapax_engine::{Processed, ReplayRequest, SameBody};

use crate::harness::{SECOND, World, statuses};

/// A world whose source holds bodies that came before under another id.
fn holding() -> World {
    let mut world = World::healthy();
    let route = world.routing.sources.get_mut(&"shop".into()).unwrap();
    route.id_is_signed = false;
    route.same_body = SameBody::Hold;
    world
}

#[tokio::test(start_paused = true)]
async fn of_one_body_under_many_ids_at_once_one_runs_until_others_are_released() {
    let world = holding();
    let engine = world.start().await;
    let names: Vec<String> = (0..20).map(|number| format!("evt_{number}")).collect();
    let sent = names
        .iter()
        .map(|name| engine.accept(vec![world.incoming(name, "same")]));
    let ids: Vec<_> = join_all(sent)
        .await
        .into_iter()
        .map(|answer| answer.unwrap()[0].id())
        .collect();
    for name in &names {
        assert_eq!(
            statuses(engine.accept(vec![world.incoming(name, "same")]).await),
            ["duplicate"]
        );
    }
    let mut held = Vec::new();
    for id in ids {
        if world.record(id).await.status == EventStatus::Held {
            held.push(id);
        } else {
            world.until(id, EventStatus::Completed).await;
        }
    }
    assert_eq!((held.len(), world.sink.ids().len()), (19, 1));
    let released = engine
        .replay(held[0], ReplayMode::Held, None, "ops", "theirs")
        .await;
    let expected = Replayed::Again {
        deliveries: 1,
        generation: Generation(0),
    };
    assert_eq!(released.unwrap(), expected);
    world.until(held[0], EventStatus::Completed).await;
    assert_eq!(world.sink.ids().len(), 2);
}

/// Its provider would retry again and again, and could change nothing.
#[tokio::test(start_paused = true)]
async fn a_held_event_is_no_failure_to_who_waits_for_its_work() {
    let world = holding();
    let engine = world.start().await;
    for name in ["one", "two", "two"] {
        let answers = engine.accept(vec![world.incoming(name, "same")]).await.unwrap();
        let processed = engine.processed(&answers, 10 * SECOND).await.unwrap();
        assert_eq!(processed, Processed::Done, "{name}");
    }
    assert_eq!(world.sink.ids().len(), 1);
}

/// Neither a replay of everything nor one to a destination that is new to it lets a held event through.
#[tokio::test(start_paused = true)]
async fn a_bulk_replay_leaves_held_events_alone() {
    let world = holding();
    let engine = world.start().await;
    let first = engine.accept(vec![world.incoming("one", "same")]).await.unwrap()[0].id();
    let held = engine.accept(vec![world.incoming("two", "same")]).await.unwrap()[0].id();
    world.until(first, EventStatus::Completed).await;
    for mode in [ReplayMode::Failed, ReplayMode::All, ReplayMode::Force] {
        for to in [None, Some("elsewhere".into())] {
            let request = ReplayRequest {
                query: EventQuery::default(),
                mode,
                to,
                rate_per_second: 100,
                who: "ops".into(),
                why: String::new(),
            };
            engine.start_replay(request).await.unwrap();
            tokio::time::sleep(60 * SECOND).await;
            let record = world.record(held).await;
            assert_eq!((record.status, record.deliveries.len()), (EventStatus::Held, 1));
        }
    }
}
