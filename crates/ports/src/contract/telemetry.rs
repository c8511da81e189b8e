//! What every stream of completion records must do.

use std::sync::Arc;

use homing_core::ids::TaskId;
use homing_core::refs::ParentRef;
use homing_core::telemetry::{Completion, Kind};
use homing_core::words::{Cause, State};

use super::run::{Runner, block_on};
use crate::parent::Telemetry;

/// Makes the stream that a case needs, and shows what is in it.
pub trait TelemetryFactory: Send {
    fn telemetry(&mut self) -> Arc<dyn Telemetry>;
    /// What a monitor sees, in the order it came.
    fn records(&mut self) -> Vec<Completion>;
    /// The next emit fails and leaves nothing.
    fn refuse(&mut self);
    /// The next emit is taken and its reply lost.
    fn lose_reply(&mut self);
    fn runner(&self) -> Runner {
        block_on
    }
}

/// One `#[test]` for each case, against what the factory makes.
#[macro_export]
macro_rules! telemetry_contract {
    ($factory:expr) => {
        $crate::telemetry_contract!(@each $factory;
            a_record_arrives_as_it_was_emitted,
            g13_the_same_generation_twice_is_one_record,
            each_generation_has_a_record_of_its_own,
            an_emit_that_fails_says_so_and_leaves_nothing,
            a_lost_reply_emitted_again_is_one_record,
        );
    };
    (@each $factory:expr; $($case:ident),+ $(,)?) => {
        $(
            #[test]
            fn $case() {
                let mut factory = $factory;
                let run = $crate::contract::telemetry::TelemetryFactory::runner(&factory);
                run(Box::pin($crate::contract::telemetry::$case(&mut factory)));
            }
        )+
    };
}

/// The record of one generation.
pub fn completion(task: u64, generation: u32) -> Completion {
    Completion {
        kind: Kind::Completion,
        task: TaskId::from_bits(task),
        generation,
        origin: "group:matrix/!room#$root".parse().ok(),
        status: State::Completed,
        cause: Some(Cause::Answered),
        summary: "süm: completed (answered)".to_owned(),
        at: 1_800_000_000_000,
        parent: ParentRef::None,
        launched_by: None,
        host: "process".into(),
        session: Some("ses_1".into()),
        agent: None,
        model: None,
        attempts: 1,
        duration_ms: Some(7),
        tokens: 5,
        cost: 6,
        tool_calls: 4,
        flagged: false,
        error: None,
        code: None,
        result: None,
    }
}

pub async fn a_record_arrives_as_it_was_emitted(factory: &mut dyn TelemetryFactory) {
    let telemetry = factory.telemetry();
    assert_eq!(telemetry.emit(completion(1, 1)).await, Ok(()));
    assert_eq!(factory.records(), [completion(1, 1)]);
}

pub async fn g13_the_same_generation_twice_is_one_record(factory: &mut dyn TelemetryFactory) {
    let telemetry = factory.telemetry();
    for _ in 0..3 {
        assert_eq!(telemetry.emit(completion(1, 1)).await, Ok(()));
    }
    assert_eq!(factory.records(), [completion(1, 1)]);
}

pub async fn each_generation_has_a_record_of_its_own(factory: &mut dyn TelemetryFactory) {
    let telemetry = factory.telemetry();
    let all = [completion(1, 1), completion(2, 1), completion(1, 2)];
    for record in &all {
        assert_eq!(telemetry.emit(record.clone()).await, Ok(()));
    }
    assert_eq!(factory.records(), all);
}

pub async fn an_emit_that_fails_says_so_and_leaves_nothing(factory: &mut dyn TelemetryFactory) {
    let telemetry = factory.telemetry();
    factory.refuse();
    assert!(telemetry.emit(completion(1, 1)).await.is_err());
    assert_eq!(factory.records(), []);
    assert_eq!(telemetry.emit(completion(1, 1)).await, Ok(()));
    assert_eq!(factory.records(), [completion(1, 1)]);
}

pub async fn a_lost_reply_emitted_again_is_one_record(factory: &mut dyn TelemetryFactory) {
    let telemetry = factory.telemetry();
    factory.lose_reply();
    assert!(telemetry.emit(completion(1, 1)).await.is_err());
    assert_eq!(telemetry.emit(completion(1, 1)).await, Ok(()));
    assert_eq!(factory.records(), [completion(1, 1)]);
}
