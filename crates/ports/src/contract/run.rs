//! Runs a case that waits, without a runtime of its own. Never waits longer than a case may take.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use crate::host::Flight;

/// Runs a case to its end. Implementations that need a runtime around them bring their own.
pub type Runner = for<'a> fn(Flight<'a, ()>);

/// No case takes longer than this; one that would is failed.
pub const CASE_MAX: Duration = Duration::from_secs(30);

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The plain runner: one thread, parked while the case waits.
pub fn block_on(case: Flight<'_, ()>) {
    let mut case = pin!(case);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let started = Instant::now();
    while case.as_mut().poll(&mut context) == Poll::Pending {
        let left = CASE_MAX.saturating_sub(started.elapsed());
        assert!(!left.is_zero(), "the case waits for something that does not come");
        thread::park_timeout(left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn a_case_that_waits_is_woken() {
        let (wakers, woken) = mpsc::channel::<Waker>();
        let waking = thread::spawn(move || woken.recv().unwrap().wake());
        let mut polls = 0;
        block_on(Box::pin(std::future::poll_fn(move |context| {
            polls += 1;
            if polls == 2 {
                return Poll::Ready(());
            }
            wakers.send(context.waker().clone()).unwrap();
            Poll::Pending
        })));
        waking.join().unwrap();
    }
}
