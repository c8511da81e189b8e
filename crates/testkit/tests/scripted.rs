//! The scripted host does what its scripts say, when the test says so, and nothing else.
#![expect(clippy::unwrap_used, reason = "a test ends where its set-up fails")]
#![expect(clippy::panic, reason = "a test ends where its set-up fails")]

use std::sync::Arc;

use homing_core::fact::{
    AskKind, ErrorClass, Exit, Fact, Fence, Finish, Picture, Presence, TurnRecord,
};
use homing_core::ids::TaskId;
use homing_core::spec::Order;
use homing_core::task::Answer;
use homing_core::words::{Tri, TurnKind};
use homing_ports::host::{Flight, Host, Opening, Place, Prompting, Reports, Wanted};
use homing_testkit::scripted::{Act, Fault, Script, ScriptedHost};
use tokio::sync::mpsc;

struct Mail(mpsc::UnboundedSender<(Fence, Fact)>);

impl Reports for Mail {
    fn report(&self, _: TaskId, fence: Fence, fact: Fact) -> Flight<'_, ()> {
        drop(self.0.send((fence, fact)));
        Box::pin(std::future::ready(()))
    }
}

type Inbox = mpsc::UnboundedReceiver<(Fence, Fact)>;

const FIRST: Fence = Fence { attempt: 1, turn: 1 };

fn task() -> TaskId {
    TaskId::from_bits(7)
}

fn opening(prompt: &str) -> Opening {
    let order = Order { prompt: prompt.to_owned(), ..Order::default() };
    let prompt = prompt.as_bytes().to_vec();
    Opening { task: task(), attempt: 1, wanted: Wanted { order, ..Wanted::default() }, prompt }
}

fn named(agent: &str) -> Wanted {
    Wanted { agent: Some(agent.into()), ..Wanted::default() }
}

fn prompting(session: &Arc<str>, fence: Fence, kind: TurnKind, text: &str) -> Prompting {
    let text = text.as_bytes().to_vec();
    Prompting {
        task: task(),
        fence,
        session: Arc::clone(session),
        kind,
        wanted: Wanted::default(),
        text,
    }
}

fn at(session: &Arc<str>, fence: Fence) -> Place {
    Place { task: task(), fence, session: Some(Arc::clone(session)) }
}

async fn open(host: &ScriptedHost, prompt: &str) -> Arc<str> {
    match &*host.open(opening(prompt)).await {
        [Fact::SessionMade { session }] => Arc::clone(session),
        facts => panic!("{facts:?}"),
    }
}

/// Opens, watches and prompts.
async fn run(host: &ScriptedHost, prompt: &str) -> (Arc<str>, Inbox) {
    let session = open(host, prompt).await;
    let inbox = watch(host, &session, FIRST);
    let taken = host.prompt(prompting(&session, FIRST, TurnKind::First, prompt)).await;
    assert_eq!(taken, Fact::PromptTaken);
    (session, inbox)
}

fn watch(host: &ScriptedHost, session: &Arc<str>, fence: Fence) -> Inbox {
    let (to, from) = mpsc::unbounded_channel();
    host.watch(at(session, fence), Arc::new(Mail(to)));
    from
}

async fn words(inbox: &mut Inbox, count: usize) -> Vec<&'static str> {
    let mut words = Vec::new();
    for _ in 0..count {
        words.push(inbox.recv().await.unwrap().1.word());
    }
    words
}

fn picture(fact: Fact) -> Picture {
    let Fact::Looked { picture } = fact else {
        panic!("{fact:?}");
    };
    picture
}

fn finish(record: &TurnRecord) -> Option<Finish> {
    match record {
        TurnRecord::Ended(end) => Some(end.finish),
        TurnRecord::Absent | TurnRecord::Open | TurnRecord::Unreadable => None,
    }
}

#[tokio::test]
async fn a_gate_stands_until_it_is_released() {
    let host = ScriptedHost::new("scripted");
    let (session, mut inbox) = run(&host, "@say One\n@gate a\n@say , two\n@end").await;
    host.reached(task(), "a").await;
    assert_eq!(words(&mut inbox, 1).await, ["active"]);
    assert_eq!(picture(host.look(at(&session, FIRST)).await).turn, TurnRecord::Open);
    host.release(task(), "a");
    assert_eq!(words(&mut inbox, 2).await, ["active", "ended"]);
    assert_eq!(host.transcript(at(&session, FIRST)).await.unwrap(), b"One, two");
}

#[tokio::test]
async fn a_release_that_comes_first_is_remembered_once() {
    let host = ScriptedHost::new("scripted");
    host.release(task(), "a");
    let (session, mut inbox) = run(&host, "@gate a\n@say One\n@gate a\n@end").await;
    assert_eq!(words(&mut inbox, 1).await, ["active"]);
    assert_eq!(picture(host.look(at(&session, FIRST)).await).turn, TurnRecord::Open);
}

#[tokio::test]
async fn tools_spending_and_todos_are_told_and_shown() {
    let host = ScriptedHost::new("scripted");
    let prompt =
        "@tool sh ls\n@tool sh ls\n@spend 7\n@todos 2\n@gate a\n@tool-end\n@tool-end\n@end";
    let (session, mut inbox) = run(&host, prompt).await;
    let expected = ["tool_began", "tool_began", "spent", "todos"];
    assert_eq!(words(&mut inbox, 4).await, expected);
    let seen = picture(host.look(at(&session, FIRST)).await);
    assert_eq!((seen.calls.len(), seen.todos), (2, Some(2)));
    assert_eq!(seen.calls[0].input, seen.calls[1].input);
    assert_ne!(seen.calls[0].id, seen.calls[1].id);
    host.release(task(), "a");
    assert_eq!(words(&mut inbox, 3).await, ["tool_ended", "tool_ended", "ended"]);
}

#[tokio::test]
async fn an_early_idle_lies_and_a_quiet_end_is_only_in_the_record() {
    let host = ScriptedHost::new("scripted");
    let (session, mut inbox) = run(&host, "@idle\n@gate a\n@say 4\n@quiet-end\n@idle").await;
    assert_eq!(words(&mut inbox, 1).await, ["end_hint"]);
    assert_eq!(picture(host.look(at(&session, FIRST)).await).turn, TurnRecord::Open);
    host.release(task(), "a");
    assert_eq!(words(&mut inbox, 2).await, ["active", "end_hint"]);
    let seen = picture(host.look(at(&session, FIRST)).await);
    assert_eq!(finish(&seen.turn), Some(Finish::Stop));
}

#[tokio::test]
async fn errors_of_every_class_end_a_turn() {
    for class in ErrorClass::ALL {
        let host = ScriptedHost::new("scripted");
        let (_, mut inbox) = run(&host, &format!("@fail {class}")).await;
        let Some((_, Fact::Ended { end })) = inbox.recv().await else {
            panic!("it did not end");
        };
        assert_eq!(end.error.map(|error| error.class), Some(*class));
    }
}

#[tokio::test]
async fn an_ask_stands_until_it_is_answered() {
    let host = ScriptedHost::new("scripted");
    let (session, mut inbox) = run(&host, "@ask question Which? | A | B\n@say B\n@end").await;
    let Some((_, Fact::AskOpened { ask })) = inbox.recv().await else {
        panic!("nothing is asked");
    };
    assert_eq!((ask.kind, ask.options.len()), (AskKind::Question, 2));
    assert_eq!(picture(host.look(at(&session, FIRST)).await).asks, Some(vec![ask.clone()]));
    let answer = Answer::Text("B".into());
    host.fault(task(), Fault::AnswerLost, 1);
    assert!(host.answer(at(&session, FIRST), &ask.key, &answer).await.is_err());
    assert_eq!(host.answer(at(&session, FIRST), &ask.key, &answer).await, Ok(()));
    assert_eq!(words(&mut inbox, 3).await, ["ask_closed", "active", "ended"]);
    assert_eq!(host.answers(task()), [(ask.key, answer)]);
}

#[tokio::test]
async fn silence_says_nothing_and_shows_an_open_turn() {
    let host = ScriptedHost::new("scripted");
    let (session, mut inbox) = run(&host, "@say One\n@silence\n@say never\n@end").await;
    assert_eq!(words(&mut inbox, 1).await, ["active"]);
    let seen = picture(host.look(at(&session, FIRST)).await);
    assert_eq!((seen.turn, seen.busy), (TurnRecord::Open, Tri::Yes));
    assert!(inbox.try_recv().is_err());
}

#[tokio::test]
async fn l14_a_lost_reply_to_an_open_leaves_a_session_to_be_found() {
    let host = ScriptedHost::new("scripted");
    let prompt = "@fault open-lost\n@end";
    assert!(matches!(&*host.open(opening(prompt)).await, [Fact::StartUnsure { .. }]));
    open(&host, prompt).await;
    assert_eq!(host.sessions().len(), 1);
}

#[tokio::test]
async fn l8_a_lost_reply_to_a_prompt_is_not_a_lost_prompt() {
    for (fault, ran) in [("prompt-lost", 1), ("prompt-dropped", 0)] {
        let host = ScriptedHost::new("scripted");
        let prompt = format!("@fault {fault}\n@gate a\n@end");
        let session = open(&host, &prompt).await;
        let send = || host.prompt(prompting(&session, FIRST, TurnKind::First, &prompt));
        assert!(matches!(send().await, Fact::PromptUnsure { .. }));
        assert_eq!(host.prompts().len(), ran, "{fault}");
        let there = picture(host.look(at(&session, FIRST)).await).turn == TurnRecord::Open;
        assert_eq!(there, ran == 1, "{fault}");
        assert_eq!(send().await, Fact::PromptTaken);
        assert_eq!(host.prompts().len(), 1, "{fault}");
    }
}

#[tokio::test]
async fn t23_a_crash_leaves_a_ghost() {
    let host = ScriptedHost::new("scripted");
    let (session, mut inbox) = run(&host, "@tool sh ls\n@gate a\n@tool-end\n@end").await;
    assert_eq!(words(&mut inbox, 1).await, ["tool_began"]);
    host.crash();
    host.release(task(), "a");
    let (_, seen) = inbox.recv().await.unwrap();
    let seen = picture(seen);
    assert_eq!((&seen.turn, seen.busy, seen.same_host), (&TurnRecord::Open, Tri::No, Tri::No));
    assert_eq!(seen.calls.len(), 1);
    assert_eq!(picture(host.look(at(&session, FIRST)).await), seen);
}

#[tokio::test]
async fn an_attempt_that_goes_on_has_turns_of_its_own() {
    let host = ScriptedHost::new("scripted");
    let (session, mut inbox) = run(&host, "@die").await;
    assert_eq!(words(&mut inbox, 1).await, ["looked"]);
    let second = Fence { attempt: 2, turn: 1 };
    let mut inbox = watch(&host, &session, second);
    host.script(task(), Script::answer("4"));
    let prompt = prompting(&session, second, TurnKind::GoOn, "Go on.");
    assert_eq!(host.prompt(prompt).await, Fact::PromptTaken);
    let mut last = inbox.recv().await.unwrap();
    while last.1.word() != "ended" {
        last = inbox.recv().await.unwrap();
    }
    assert_eq!(last.0, second);
    assert_eq!(picture(host.look(at(&session, FIRST)).await).turn, TurnRecord::Open);
    assert_eq!(finish(&picture(host.look(at(&session, second)).await).turn), Some(Finish::Stop));
}

#[tokio::test]
async fn a_session_can_exit_vanish_or_be_deleted() {
    let host = ScriptedHost::new("scripted");
    let (session, mut inbox) = run(&host, "@say half\n@exit 75").await;
    assert_eq!(words(&mut inbox, 2).await, ["active", "exited"]);
    let Fact::Exited { exit, .. } = host.look(at(&session, FIRST)).await else {
        panic!("it did not exit");
    };
    assert_eq!(exit, Exit { code: Some(75), signal: None });

    let host = ScriptedHost::new("scripted");
    let (session, mut inbox) = run(&host, "@delete").await;
    assert_eq!(words(&mut inbox, 1).await, ["session_deleted"]);
    assert_eq!(host.look(at(&session, FIRST)).await, Fact::SessionDeleted);

    let host = ScriptedHost::new("scripted");
    let (session, _inbox) = run(&host, "@vanish").await;
    assert_eq!(picture(host.look(at(&session, FIRST)).await).session, Presence::Missing);
}

#[tokio::test]
async fn aborts_looks_and_records_fail_as_often_as_the_script_says() {
    let host = ScriptedHost::new("scripted");
    let prompt = "@fault abort-refused 2\n@fault look-fails\n@fault unreadable\n@silence";
    let (session, _inbox) = run(&host, prompt).await;
    assert!(matches!(host.look(at(&session, FIRST)).await, Fact::LookFailed { .. }));
    let unreadable = picture(host.look(at(&session, FIRST)).await);
    assert_eq!(unreadable.turn, TurnRecord::Unreadable);
    for _ in 0..2 {
        assert!(matches!(host.abort(at(&session, FIRST)).await, Fact::StopRefused { .. }));
    }
    assert!(host.is_running(task()));
    assert_eq!(host.abort(at(&session, FIRST)).await, Fact::Stopped);
    assert!(!host.is_running(task()));
    assert_eq!((host.calls().looks, host.calls().aborts), (2, 3));
}

#[tokio::test]
async fn an_endless_stream_is_bounded_and_ends_in_a_look() {
    let host = ScriptedHost::new("scripted");
    let many = (0..1_000).fold(Script::new(), |script, _| script.act(Act::Busy));
    host.script(task(), many.clone().gate("a"));
    let session = open(&host, "").await;
    for turn in 1..=2 {
        host.release(task(), "a");
        host.script(task(), many.clone());
        let fence = Fence { attempt: 1, turn };
        host.prompt(prompting(&session, fence, TurnKind::Send, "")).await;
    }
    let mut inbox = watch(&host, &session, FIRST);
    assert_eq!(words(&mut inbox, 1).await, ["looked"]);
}

#[tokio::test]
async fn what_a_launch_names_is_checked_with_suggestions() {
    let host = ScriptedHost::new("scripted").with_agents(&["build", "plan"]);
    assert_eq!(host.check(named("plan")).await, Ok(()));
    let why = host.check(named("paln")).await.unwrap_err();
    assert!(why.contains("paln") && why.contains("build, plan"), "{why}");
}

#[tokio::test]
async fn a_bad_script_is_refused_by_name() {
    let host = ScriptedHost::new("scripted");
    let session = open(&host, "@sing").await;
    let fact = host.prompt(prompting(&session, FIRST, TurnKind::First, "@sing")).await;
    let Fact::PromptRefused { error } = fact else {
        panic!("{fact:?}");
    };
    assert!(error.message.contains("@sing"), "{error:?}");
}
