//! Asks: seen once, answered once, by somebody outside.

use homing_core::wire::AnswerBody;
use homing_core::words::State;
use homing_ports::door::Calling;

use crate::scene::{Scene, problem, soon};

fn allow() -> AnswerBody {
    AnswerBody { allow: true, ..AnswerBody::default() }
}

#[tokio::test]
async fn c8_an_ask_is_listed_answered_by_a_person_and_never_by_its_own_task() {
    let scene = Scene::new();
    let mut open = scene.open();
    let id = open.launch("@ask permission Delete it all?\n@say done\n@end").await;
    open.until(id, State::WaitingAsk).await;
    let asks = soon(open.client.asks()).await.unwrap();
    assert_eq!((asks.len(), asks[0].task, &*asks[0].text), (1, id, "Delete it all?"));
    assert!(asks[0].asked_at < asks[0].deadline);
    let ask = asks[0].id.to_string();
    scene.call_from(&mut open, Calling::Inside(id));
    let refused = problem(soon(open.client.answer(&ask, &allow())).await);
    assert_eq!((refused.status, refused.code.as_str()), (403, "E_OWN_ASK"));
    scene.call_from(&mut open, Calling::Outside);
    for (body, says) in [
        (AnswerBody::default(), "say one of"),
        (AnswerBody { deny: true, ..allow() }, "say one of"),
    ] {
        let refused = problem(soon(open.client.answer(&ask, &body)).await);
        assert!(refused.detail.contains(says), "{refused:?}");
    }
    // By the task that asks, as by the ask itself.
    assert_eq!(soon(open.client.answer(&id.to_string(), &allow())).await.unwrap().id, asks[0].id);
    assert_eq!(open.end(id).await.state, State::Completed);
    let refused = problem(soon(open.client.answer(&ask, &allow())).await);
    assert_eq!((refused.status, refused.code.as_str()), (409, "E_ASK_CLOSED"));
    let refused = problem(soon(open.client.answer(&id.to_string(), &allow())).await);
    assert_eq!((refused.status, refused.detail.contains("asks nothing now")), (404, true));
    let refused = problem(soon(open.client.answer("ask_1", &allow())).await);
    assert_eq!(refused.status, 400);
    open.close().await;
}

#[tokio::test]
async fn a_question_is_answered_with_words() {
    let scene = Scene::new();
    let open = scene.open();
    let id = open.launch("@ask question Which? | A | B\n@say done\n@end").await;
    open.until(id, State::WaitingAsk).await;
    let asks = soon(open.client.asks()).await.unwrap();
    assert_eq!(asks[0].options.len(), 2);
    let refused = problem(soon(open.client.answer(&asks[0].id.to_string(), &allow())).await);
    assert!(refused.detail.contains("a question needs a text"), "{refused:?}");
    let body = AnswerBody { text: Some("B".to_owned()), ..AnswerBody::default() };
    soon(open.client.answer(&asks[0].id.to_string(), &body)).await.unwrap();
    open.end(id).await;
    open.close().await;
}
