//! What every source of random bits must do.

use std::collections::BTreeSet;

use homing_core::ids::TaskId;

use crate::clock::Ids;

/// One `#[test]` for each case, against what the expression makes.
#[macro_export]
macro_rules! ids_contract {
    ($ids:expr) => {
        $crate::ids_contract!(@each $ids;
            no_two_ids_are_alike,
            every_bit_is_now_and_then_set,
            threads_share_a_source,
        );
    };
    (@each $ids:expr; $($case:ident),+ $(,)?) => {
        $(
            #[test]
            fn $case() {
                $crate::contract::ids::$case(&$ids);
            }
        )+
    };
}

pub fn no_two_ids_are_alike(ids: &dyn Ids) {
    let made: BTreeSet<TaskId> = (0..10_000).map(|_| TaskId::from_bits(ids.bits())).collect();
    assert_eq!(made.len(), 10_000);
}

pub fn every_bit_is_now_and_then_set(ids: &dyn Ids) {
    let (mut ever, mut always) = (0, u64::MAX);
    for _ in 0..256 {
        let bits = ids.bits();
        ever |= bits;
        always &= bits;
    }
    assert_eq!((ever, always), (u64::MAX, 0));
}

pub fn threads_share_a_source(ids: &dyn Ids) {
    let drawn = std::thread::scope(|scope| {
        let draws =
            [(); 4].map(|()| scope.spawn(|| (0..1_000).map(|_| ids.bits()).collect::<Vec<_>>()));
        draws.map(|draw| draw.join().unwrap_or_default()).concat()
    });
    assert_eq!(drawn.into_iter().collect::<BTreeSet<_>>().len(), 4_000);
}
