//! What could not be told where it was to be, at the place that an operator names.

use std::sync::Arc;

use homing_core::view::RoomView;
use homing_rooms::memory::MemoryRoom;
use homing_runtime::{Homing, ParentRef, TaskId};

use crate::stage::{Stage, answering, ask, end, launch, soon};

async fn until_room(homing: &Homing, id: TaskId, state: &str) -> RoomView {
    let mut head = homing.head();
    soon(async {
        loop {
            head.mark_unchanged();
            let room = homing.view(id, false).await.unwrap().0.room;
            if room.state == state {
                return room;
            }
            head.changed().await.unwrap();
        }
    })
    .await
}

fn words(room: &MemoryRoom) -> Vec<String> {
    let messages = room.messages();
    messages.iter().map(|told| String::from_utf8_lossy(&told.text).into_owned()).collect()
}

#[tokio::test]
async fn g11_g17_an_answer_that_a_room_refused_is_told_elsewhere_in_the_parents_own_words() {
    let stage = Stage::new();
    let parent = answering(&stage, "cv_reroute");
    let hall = Arc::new(MemoryRoom::new());
    stage.room.close("not a member");
    let homing = stage.runtime().room("hall", hall.clone()).start().unwrap();
    let asked = ask("Count.").parent(parent).origin("group:lobby/1".parse().unwrap());
    let id = launch(&homing, asked).await;
    let closed = until_room(&homing, id, "undeliverable").await;
    for _ in 0..2 {
        soon(homing.reroute(id, "group:hall/2".parse().unwrap())).await.unwrap();
        let told = until_room(&homing, id, "settled").await;
        assert_eq!((told.key, told.code), (closed.key, None), "the same message, and shown so");
    }
    assert_eq!(words(&hall), ["thanks, all"], "once, however often it is asked for");
    assert!(words(&stage.room).is_empty());
    soon(homing.stop()).await;
}

#[tokio::test]
async fn g11_an_end_that_was_for_no_room_is_told_in_one_line_and_shown() {
    let stage = Stage::new();
    let homing = stage.start();
    let id = launch(&homing, ask("Count.").named("count").parent(ParentRef::None)).await;
    end(&homing, id).await;
    assert_eq!(homing.view(id, false).await.unwrap().0.room.state, "none");
    for _ in 0..2 {
        soon(homing.reroute(id, "group:lobby/2".parse().unwrap())).await.unwrap();
        until_room(&homing, id, "settled").await;
    }
    let line = format!("Background task done: count ({id}) [E_COMPLETION_TELEMETRY_FALLBACK]");
    assert_eq!(words(&stage.room), [line], "once, however often it is asked for");
    soon(homing.stop()).await;
}
