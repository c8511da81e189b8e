//! Webhooks against a receiver on loopback: what it hears, and what is made of its answers.
#![expect(clippy::unwrap_used, reason = "a test ends where its set-up fails")]

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use homing_core::ids::{DebriefId, PostId, TaskId};
use homing_core::input::{DeliveryFact, ParentFact, PostFact};
use homing_core::refs::ParentRef;
use homing_ports::contract::parent::ParentFactory;
use homing_ports::contract::room::RoomFactory;
use homing_ports::contract::run::Runner;
use homing_ports::door::Token;
use homing_ports::parent::{Delivery, Message, Parent, Room};
use homing_rooms::http::Place;
use homing_rooms::webhook::{Secret, Webhook, Webhooks};
use homing_testkit::receiver::{Answer, Receiver};

const LONG: Duration = Duration::from_secs(60);

struct Fixed(String);

impl Token for Fixed {
    fn token(&self) -> io::Result<String> {
        Ok(self.0.clone())
    }
}

fn secret() -> String {
    Secret::text_of(&[7; 32])
}

fn own() -> Vec<String> {
    vec!["127.0.0.1".to_owned()]
}

fn webhook(url: &str, redirects: &[String]) -> Webhook {
    let place = Place::new(url, &own(), redirects).unwrap();
    Webhook { place, secret: Arc::new(Fixed(secret())), within: LONG }
}

fn one(webhook: Webhook) -> Webhooks {
    Webhooks(BTreeMap::from([("ops".to_owned(), Arc::new(webhook))]))
}

fn who() -> ParentRef {
    "webhook:ops".parse().unwrap()
}

fn delivery() -> Delivery {
    let notices = vec![(TaskId::from_bits(3), 1)];
    let key = DebriefId::from_bits(5);
    Delivery { key, parent: who(), notices, text: b"It ended.".to_vec(), sealed: None, tries: 0 }
}

fn blocking<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(future)
}

fn on_tokio(case: std::pin::Pin<Box<dyn Future<Output = ()> + Send + '_>>) {
    blocking(case);
}

fn delivered(webhook: Webhook) -> DeliveryFact {
    blocking(one(webhook).deliver(delivery()))
}

fn why(fact: DeliveryFact) -> String {
    let DeliveryFact::Refused { why } = fact else {
        unreachable!("it was not refused: {fact:?}");
    };
    why.to_string()
}

#[test]
fn a_request_is_signed_over_its_id_its_time_and_its_raw_body() {
    let receiver = Receiver::start().unwrap();
    assert_eq!(delivered(webhook(&receiver.url(), &[])), DeliveryFact::Shared);
    let heard = receiver.heard().remove(0);
    assert_eq!((&*heard.path, heard.id()), ("/hook", &*DebriefId::from_bits(5).to_string()));
    assert_eq!(heard.header("content-type"), Some("application/json"));
    let at: u64 = heard.header("webhook-timestamp").unwrap().parse().unwrap();
    let signed = secret().parse::<Secret>().unwrap().sign(heard.id(), at, &heard.body);
    assert_eq!(heard.header("webhook-signature"), Some(&*signed));
    let body: serde_json::Value = serde_json::from_slice(&heard.body).unwrap();
    let task = TaskId::from_bits(3).to_string();
    let expected = serde_json::json!({"type": "debrief", "key": heard.id(), "parent": "webhook:ops",
        "notices": [[task, 1]], "text": "It ended."});
    assert_eq!(body, expected);
    assert!(heard.headers.iter().all(|(_, value)| !value.contains("whsec_")));
}

#[test]
fn n13_a_receiver_that_dies_after_it_took_one_hears_the_same_key_and_bytes_again() {
    let receiver = Receiver::start().unwrap();
    receiver.answer([Answer::TakeAndDie, Answer::Die]);
    for _ in 0..2 {
        let failed = delivered(webhook(&receiver.url(), &[]));
        assert!(matches!(failed, DeliveryFact::Failed { .. }), "{failed:?}");
    }
    assert_eq!(delivered(webhook(&receiver.url(), &[])), DeliveryFact::Shared);
    let heard = receiver.heard();
    assert_eq!(heard.len(), 2);
    assert_eq!((heard[0].id(), &heard[0].body), (heard[1].id(), &heard[1].body));
    assert_eq!(receiver.taken().len(), 1);
}

#[test]
fn a_receiver_that_says_gone_or_cannot_take_it_refuses_for_good() {
    for status in [410, 400, 413, 422] {
        let receiver = Receiver::start().unwrap();
        receiver.usually(Answer::Say(status, Vec::new()));
        let why = why(delivered(webhook(&receiver.url(), &[])));
        assert!(why.contains(&status.to_string()), "{why}");
    }
}

#[test]
fn a_receiver_that_is_busy_says_how_long() {
    let receiver = Receiver::start().unwrap();
    receiver.answer([Answer::Say(503, vec!["Retry-After: 9".into()])]);
    let DeliveryFact::Failed { retry_after_ms, why } = delivered(webhook(&receiver.url(), &[]))
    else {
        unreachable!("taken");
    };
    assert_eq!(retry_after_ms, Some(9_000));
    assert!(why.contains("503"), "{why}");
}

#[test]
fn a_receiver_that_never_answers_is_given_up_on_for_now() {
    let receiver = Receiver::start().unwrap();
    receiver.usually(Answer::Stall);
    let short = Webhook { within: Duration::from_millis(200), ..webhook(&receiver.url(), &[]) };
    let failed = delivered(short);
    assert!(
        matches!(&failed, DeliveryFact::Failed { why, .. } if why.contains("no answer")),
        "{failed:?}"
    );
}

#[test]
fn an_address_that_is_not_everybodys_is_not_called_unless_it_is_named() {
    let receiver = Receiver::start().unwrap();
    for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0"] {
        let place = Place::new(&format!("http://{host}:{}/", receiver.port()), &[], &[]).unwrap();
        let why = why(delivered(Webhook { place, ..webhook(&receiver.url(), &[]) }));
        assert!(why.contains("private"), "{host}: {why}");
    }
    assert_eq!(receiver.heard(), []);
}

#[test]
fn a_redirect_to_an_address_that_is_not_everybodys_is_not_followed() {
    let (receiver, inside) = (Receiver::start().unwrap(), Receiver::start().unwrap());
    let to = format!("Location: http://127.0.0.2:{}/", inside.port());
    receiver.usually(Answer::Say(307, vec![to]));
    let unnamed = why(delivered(webhook(&receiver.url(), &[])));
    assert!(unnamed.contains("redirects"), "{unnamed}");
    let named = why(delivered(webhook(&receiver.url(), &["127.0.0.2".to_owned()])));
    assert!(named.contains("private"), "a name is not enough: {named}");
    assert_eq!(inside.heard(), []);
}

#[test]
fn a_redirect_that_is_named_is_followed_with_the_same_bytes_and_not_for_ever() {
    let (receiver, other) = (Receiver::start().unwrap(), Receiver::start().unwrap());
    let to = format!("Location: http://127.0.0.1:{}/there", other.port());
    receiver.answer([Answer::Say(308, vec![to])]);
    let named = [format!("127.0.0.1:{}", other.port())];
    assert_eq!(delivered(webhook(&receiver.url(), &named)), DeliveryFact::Shared);
    let (first, second) = (receiver.heard().remove(0), other.heard().remove(0));
    assert_eq!((first.id(), &first.body), (second.id(), &second.body));
    assert_eq!(second.path, "/there");
    receiver.usually(Answer::Say(307, vec!["Location: /again".into()]));
    let endless = why(delivered(webhook(&receiver.url(), &[])));
    assert!(endless.contains("more than 3"), "{endless}");
    receiver.usually(Answer::Say(302, vec!["Location: /again".into()]));
    why(delivered(webhook(&receiver.url(), &[])));
}

#[test]
fn one_that_is_not_set_up_may_be_again() {
    let none = Webhooks::default();
    assert_eq!(blocking(none.look(who())), ParentFact::Unreachable);
    let failed = blocking(none.deliver(delivery()));
    assert!(
        matches!(&failed, DeliveryFact::Failed { why, .. } if why.contains("webhook:ops")),
        "{failed:?}"
    );
}

#[test]
fn a_secret_that_cannot_be_used_sends_nothing() {
    let receiver = Receiver::start().unwrap();
    let odd =
        Webhook { secret: Arc::new(Fixed("hunter2".into())), ..webhook(&receiver.url(), &[]) };
    let failed = delivered(odd);
    let DeliveryFact::Failed { why, .. } = failed else {
        unreachable!("{failed:?}");
    };
    assert!(why.contains("secret") && !why.contains("hunter2"), "{why}");
    assert_eq!(receiver.heard(), []);
}

mod over_tls {
    use super::*;
    use homing_testkit::receiver::Speaks;
    use rustls::pki_types::PrivateKeyDer;
    use rustls::{ServerConfig, ServerConnection, StreamOwned};

    fn receiver(certified: &rcgen::CertifiedKey<rcgen::KeyPair>) -> Receiver {
        let key = PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certified.cert.der().clone()], key)
            .unwrap();
        let config = Arc::new(config);
        Receiver::speaking(move |stream| -> Box<dyn Speaks> {
            let tls = ServerConnection::new(Arc::clone(&config)).unwrap();
            Box::new(StreamOwned::new(tls, stream))
        })
        .unwrap()
    }

    /// Whom a machine trusts is read once: one test, in a process of its own.
    #[test]
    fn a_certificate_is_trusted_if_the_machine_trusts_it_and_no_other_is() {
        const TRUSTED: &str = "SSL_CERT_FILE";
        let certified =
            || rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let Some(file) = std::env::var_os(TRUSTED).filter(|_| std::env::var_os("AGAIN").is_some())
        else {
            let dir = std::env::temp_dir().join(format!("homing-tls-{}.pem", std::process::id()));
            let name =
                "over_tls::a_certificate_is_trusted_if_the_machine_trusts_it_and_no_other_is";
            let again = std::process::Command::new(std::env::current_exe().unwrap())
                .args([name, "--exact", "--nocapture"])
                .env(TRUSTED, &dir)
                .env("AGAIN", "1")
                .output()
                .unwrap();
            drop(std::fs::remove_file(&dir));
            assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stderr));
            assert!(String::from_utf8_lossy(&again.stdout).contains("1 passed"));
            return;
        };
        let (known, unknown) = (certified(), certified());
        std::fs::write(file, known.cert.pem()).unwrap();
        let at = |receiver: &Receiver| {
            let url = format!("https://localhost:{}/hook", receiver.port());
            delivered(Webhook {
                place: Place::new(&url, &["127.0.0.1".into(), "::1".into()], &[]).unwrap(),
                ..webhook(&receiver.url(), &[])
            })
        };
        let (fine, odd) = (receiver(&known), receiver(&unknown));
        assert_eq!(at(&fine), DeliveryFact::Shared);
        assert_eq!(fine.taken().len(), 1);
        let failed = at(&odd);
        assert!(matches!(failed, DeliveryFact::Failed { .. }), "{failed:?}");
        assert_eq!(odd.heard(), []);
    }
}

mod room {
    use super::*;

    struct One(Receiver);

    impl RoomFactory for One {
        fn room(&mut self) -> Arc<dyn Room> {
            Arc::new(webhook(&self.0.url(), &[]))
        }

        fn texts(&mut self) -> Vec<Vec<u8>> {
            let text = |body: &[u8]| {
                let body: serde_json::Value = serde_json::from_slice(body).unwrap();
                assert_eq!(body["type"], "message");
                assert_eq!(body["origin"]["address"], "!a:b");
                body["text"].as_str().unwrap().as_bytes().to_vec()
            };
            self.0.taken().iter().map(|heard| text(&heard.body)).collect()
        }

        fn close(&mut self) {
            self.0.usually(Answer::Say(410, Vec::new()));
        }

        fn limit(&mut self, retry_after_ms: u64) {
            let after = format!("Retry-After: {}", retry_after_ms / 1_000);
            self.0.answer([Answer::Say(429, vec![after])]);
        }

        fn lose_reply(&mut self) {
            self.0.answer([Answer::TakeAndDie]);
        }

        fn runner(&self) -> Runner {
            on_tokio
        }
    }

    homing_ports::room_contract!(One(Receiver::start().unwrap()));

    #[test]
    fn a_message_that_is_no_text_is_brought_all_the_same() {
        let receiver = Receiver::start().unwrap();
        let origin = "group:team/here".parse().unwrap();
        let message =
            Message { key: PostId::from_bits(1), origin, text: vec![0xff, b'a'], tries: 0 };
        assert_eq!(blocking(webhook(&receiver.url(), &[]).post(message)), PostFact::Posted);
    }
}

mod parent {
    use super::*;

    struct Several {
        all: Vec<Receiver>,
    }

    impl Several {
        fn receiver(&self, who: &ParentRef) -> &Receiver {
            let n: usize = who.to_string().strip_prefix("webhook:w").unwrap().parse().unwrap();
            &self.all[n]
        }
    }

    impl ParentFactory for Several {
        fn parent(&mut self) -> Arc<dyn Parent> {
            let all = self.all.iter().enumerate();
            let each =
                all.map(|(n, receiver)| (format!("w{n}"), Arc::new(webhook(&receiver.url(), &[]))));
            Arc::new(Webhooks(each.collect()))
        }

        fn somebody(&mut self) -> ParentRef {
            // One after the other, of those that were made beforehand.
            let free = self.all.iter().position(|receiver| receiver.heard().is_empty());
            let n = free.unwrap();
            self.all[n].usually(Answer::Say(200, Vec::new()));
            format!("webhook:w{n}").parse().unwrap()
        }

        fn told(&mut self, who: &ParentRef) -> Vec<(DebriefId, Vec<u8>)> {
            let taken = self.receiver(who).taken();
            let one = |heard: &homing_testkit::receiver::Heard| {
                let body: serde_json::Value = serde_json::from_slice(&heard.body).unwrap();
                let text = body["text"].as_str().unwrap().as_bytes().to_vec();
                (heard.id().parse().unwrap(), text)
            };
            taken.iter().map(one).collect()
        }

        fn begin_turn(&mut self, _: &ParentRef) {}

        fn end_turn(&mut self, _: &ParentRef) {}

        fn delete(&mut self, _: &ParentRef) {}

        fn set_unreachable(&mut self, who: &ParentRef, unreachable: bool) {
            let answer = if unreachable { Answer::Die } else { Answer::Say(200, Vec::new()) };
            self.receiver(who).usually(answer);
        }

        fn lose_reply(&mut self, who: &ParentRef) {
            self.receiver(who).answer([Answer::TakeAndDie]);
        }

        fn asked(&mut self, _: DebriefId) -> u32 {
            0
        }

        fn runner(&self) -> Runner {
            on_tokio
        }
    }

    fn several() -> Several {
        Several { all: (0..2).map(|_| Receiver::start().unwrap()).collect() }
    }

    // It has no turns, cannot be asked for a key and cannot be deleted: what remains of the contract.
    homing_ports::parent_contract!(@each several();
        a_debrief_is_told_as_it_was_sealed,
        n13_the_same_key_twice_is_one_message,
        what_never_arrived_is_sent_again_under_its_key,
        two_debriefs_are_told_in_order,
    );
}
