//! Who may have a worker, and when: no caller, and no address, has all of them. Who wants more than
//! its share waits for one of its own, without a worker and behind nobody else.

use bobak_serving::{FairQueue, Principal, QuotaLimits};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot::{self, Sender};

/// The workers' shares. Cheap to clone: clones are the same.
#[derive(Clone)]
pub(crate) struct Turns(Arc<Mutex<FairQueue<Sender<Turn>>>>);

/// A worker that one may have, until this is dropped.
pub(crate) struct Turn {
    turns: Turns,
    principal: Principal,
}

impl Turns {
    /// All workers are free.
    pub fn new(limits: QuotaLimits) -> Self {
        Self(Arc::new(Mutex::new(FairQueue::new(limits, |told| !told.is_closed()))))
    }

    /// Waits until this one may have a worker. Who stops to wait leaves the line.
    pub async fn take(&self, principal: &Principal) -> Turn {
        loop {
            let hears = {
                let mut queue = self.lock();
                let Err(scope) = queue.try_acquire(principal) else {
                    return self.turn(principal.clone());
                };
                let (told, hears) = oneshot::channel();
                queue.enqueue(scope, principal.clone(), told);
                hears
            };
            // Nobody is put out of the line who still waits.
            if let Ok(turn) = hears.await {
                return turn;
            }
        }
    }

    fn turn(&self, principal: Principal) -> Turn {
        Turn { turns: self.clone(), principal }
    }

    fn lock(&self) -> MutexGuard<'_, FairQueue<Sender<Turn>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let next = self.turns.lock().release(&self.principal);
        for (principal, told) in next {
            // Where somebody has left just now, the turn comes back by its drop.
            let _ = told.send(self.turns.turn(principal));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_turn_that_nobody_takes_goes_on_to_the_next() {
        let turns = Turns::new(QuotaLimits::with_share(2, 50));
        let ada = Principal::from_address(None).with_name("ada");
        let first = turns.take(&ada).await;
        let wait = || Box::pin(turns.take(&ada));
        let (mut left, mut called, mut last) = (wait(), wait(), wait());
        for waits in [&mut left, &mut called, &mut last] {
            assert!(at_once(waits).await.is_none());
        }
        drop(left);
        drop(first);
        // It was called, and leaves all the same.
        drop(called);
        assert!(at_once(&mut last).await.is_some());
    }

    async fn at_once<F: Future + Unpin>(waits: &mut F) -> Option<F::Output> {
        tokio::select! {
            biased;
            done = waits => Some(done),
            () = std::future::ready(()) => None,
        }
    }
}
