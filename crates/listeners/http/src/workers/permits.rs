//! Worker permits: a fair share of the worker threads for each client and each address.
//!
//! A client that already has its share waits, without a thread, until one of its own permits is
//! returned. It does not delay other clients.

use bobak_serving::{FairQueue, Principal, QuotaLimits};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot::{self, Sender};

/// The permits for all workers. Cheap to clone: clones share the permits.
#[derive(Clone)]
pub(crate) struct WorkerPermits(Arc<Mutex<FairQueue<Sender<WorkerPermit>>>>);

/// The right to occupy one worker; returned when dropped.
pub(crate) struct WorkerPermit {
    permits: WorkerPermits,
    principal: Principal,
}

impl WorkerPermits {
    /// All permits are free.
    pub fn new(limits: QuotaLimits) -> Self {
        Self(Arc::new(Mutex::new(FairQueue::new(limits, |waiter| !waiter.is_closed()))))
    }

    /// Waits for a permit. Dropping the future leaves the queue.
    pub async fn acquire(&self, principal: &Principal) -> WorkerPermit {
        loop {
            let granted = {
                let mut queue = self.lock();
                let Err(scope) = queue.try_acquire(principal) else {
                    return self.permit(principal.clone());
                };
                let (sender, granted) = oneshot::channel();
                queue.enqueue(scope, principal.clone(), sender);
                granted
            };
            // The queue never drops a sender whose receiver still waits; if it did, wait again.
            if let Ok(permit) = granted.await {
                return permit;
            }
        }
    }

    fn permit(&self, principal: Principal) -> WorkerPermit {
        WorkerPermit { permits: self.clone(), principal }
    }

    fn lock(&self) -> MutexGuard<'_, FairQueue<Sender<WorkerPermit>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for WorkerPermit {
    fn drop(&mut self) {
        let next = self.permits.lock().release(&self.principal);
        for (principal, sender) in next {
            // If the waiter has just left, dropping the unsent permit passes it on.
            let _ = sender.send(self.permits.permit(principal));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn permit_skips_waiters_that_left() {
        let permits = WorkerPermits::new(QuotaLimits::with_share(2, 50));
        let ada = Principal::from_address(None).with_name("ada");
        let first = permits.acquire(&ada).await;
        let wait = || Box::pin(permits.acquire(&ada));
        let (mut left, mut granted, mut last) = (wait(), wait(), wait());
        for waiter in [&mut left, &mut granted, &mut last] {
            assert!(poll_once(waiter).await.is_none());
        }
        drop(left);
        drop(first);
        // It was granted the permit but never polled again.
        drop(granted);
        assert!(poll_once(&mut last).await.is_some());
    }

    async fn poll_once<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
        tokio::select! {
            biased;
            output = future => Some(output),
            () = std::future::ready(()) => None,
        }
    }
}
