//! One who reads a turn along: words as they come, once, whoever comes back or takes the turn over.

use homing_core::fact::ErrorClass;
use homing_core::ids::ConversationId;
use homing_core::wire::TurnEvent;
use homing_runtime::{Cursor, Homing};
use homing_testkit::scripted::Script;
use tokio::sync::mpsc::Receiver;

use crate::stage::{Stage, ask, soon};

async fn next(events: &mut Receiver<TurnEvent>) -> TurnEvent {
    soon(events.recv()).await.expect("the turn goes on, or its end is told")
}

/// What was said until the turn's end, each piece with where it begins; a reset by its part, if it is of one.
async fn rest(events: &mut Receiver<TurnEvent>) -> Vec<String> {
    let mut all = Vec::new();
    loop {
        match next(events).await {
            TurnEvent::Said { kind, offset, text, .. } => {
                all.push(format!("{kind} {offset} {text}"))
            }
            TurnEvent::Reset { part, offset, .. } => {
                all.push(format!("reset {} {offset}", if part.is_some() { "part" } else { "all" }));
            }
            TurnEvent::Ended(view) => {
                all.push(format!("ended {}", view.state));
                return all;
            }
            TurnEvent::Began { cause, .. } => all.push(format!("began {cause}")),
            TurnEvent::Waits { .. } | TurnEvent::Asks { .. } => {}
        }
    }
}

/// Reads until so many bytes of text were said; where that is.
async fn read_until(events: &mut Receiver<TurnEvent>, bytes: u64) -> Cursor {
    loop {
        if let TurnEvent::Said { part, kind, offset, text, .. } = next(events).await
            && kind == "text"
        {
            let offset = offset + text.len() as u64;
            if offset >= bytes {
                return Cursor { part: part.into(), offset };
            }
        }
    }
}

async fn talk(stage: &Stage, models: &[&str]) -> (Homing, ConversationId) {
    let homing = stage.start();
    let launch = models.iter().fold(ask(""), |launch, model| launch.model(model.parse().unwrap()));
    let (chat, _) = soon(homing.converse(launch)).await.unwrap();
    (homing, chat)
}

#[tokio::test]
async fn u7_words_are_told_as_they_come_and_one_who_comes_back_goes_on_where_it_was() {
    let stage = Stage::new();
    let (homing, chat) = talk(&stage, &[]).await;
    let script =
        Script::new().say("two ").gate("more").tool("sums", "2 2").tool_end().say("four").end();
    stage.host.script(chat.task(), script);
    let (turn, _) = soon(homing.speak(chat, "2+2?", None)).await.unwrap();
    let mut first = soon(homing.follow(chat, turn, None)).await.unwrap();
    let cursor = read_until(&mut first, 4).await;
    drop(first);
    let mut whole = soon(homing.follow(chat, turn, None)).await.unwrap();
    let mut back = soon(homing.follow(chat, turn, Some(cursor.clone()))).await.unwrap();
    assert_eq!(next(&mut whole).await.word(), "began");
    stage.host.release(chat.task(), "more");
    let all = ["text 0 two ", "tool 0 sums", "text 0 four", "ended completed"];
    assert_eq!(rest(&mut whole).await, all);
    assert_eq!(
        rest(&mut back).await,
        ["began person", "tool 0 sums", "text 0 four", "ended completed"]
    );
    // Once more, after the end.
    let mut late = soon(homing.follow(chat, turn, Some(cursor))).await.unwrap();
    assert_eq!(
        rest(&mut late).await,
        ["began person", "tool 0 sums", "text 0 four", "ended completed"]
    );
    soon(homing.stop()).await;
}

#[tokio::test]
async fn u7_what_another_model_took_over_is_withdrawn_whole_also_from_one_who_comes_back() {
    let stage = Stage::new();
    let (homing, chat) = talk(&stage, &["acme/large", "acme/small"]).await;
    let fails = Script::new().say("one").tool("sums", "").tool_end().say("two").gate("fails");
    stage.host.script(chat.task(), fails.fail(ErrorClass::RateLimited));
    stage.host.script(chat.task(), Script::new().gate("again").say("four").end());
    let (turn, _) = soon(homing.speak(chat, "2+2?", None)).await.unwrap();
    let mut stays = soon(homing.follow(chat, turn, None)).await.unwrap();
    assert_eq!(next(&mut stays).await.word(), "began");
    let mut goes = soon(homing.follow(chat, turn, None)).await.unwrap();
    read_until(&mut goes, 3).await;
    let cursor = read_until(&mut goes, 3).await;
    drop(goes);
    stage.host.release(chat.task(), "fails");
    soon(stage.host.reached(chat.task(), "again")).await;
    let mut back = soon(homing.follow(chat, turn, Some(cursor))).await.unwrap();
    stage.host.release(chat.task(), "again");
    let anew = ["reset all 0", "text 0 four", "ended completed"];
    assert_eq!(rest(&mut stays).await[3..], anew);
    let back = rest(&mut back).await;
    // Told while it ran, withdrawn with all before it when that was sure, and told again.
    assert_eq!(back[back.len() - 3..], anew, "{back:?}");
    soon(homing.stop()).await;
}
