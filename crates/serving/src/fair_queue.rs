//! Waiting for a quota, in arrival order per scope.
//!
//! A client that has used up its quota waits behind its own requests only, never behind those of
//! other clients: there is one queue for each exhausted scope.

use crate::quotas::{Principal, QuotaLimits, Quotas, Scope};
use std::collections::{HashMap, VecDeque};

/// Quotas, and the waiters for them. Each waiter is in the queue of one exhausted scope.
#[derive(Debug)]
pub struct FairQueue<W> {
    quotas: Quotas,
    queues: HashMap<Scope, Waiters<W>>,
    /// Whether a waiter is still there.
    is_waiting: fn(&W) -> bool,
}

/// The waiters for one scope, in arrival order.
type Waiters<W> = VecDeque<(Principal, W)>;

impl<W> FairQueue<W> {
    /// A queue with nothing in use and no waiters. `is_waiting` tells whether a queued waiter is
    /// still there; those that are not are skipped and do not count.
    #[must_use]
    pub fn new(limits: QuotaLimits, is_waiting: fn(&W) -> bool) -> Self {
        Self { quotas: Quotas::new(limits), queues: HashMap::new(), is_waiting }
    }

    /// Takes one unit if the quotas allow it.
    ///
    /// # Errors
    /// The exhausted scope, whose queue the caller may [join](Self::enqueue).
    pub fn try_acquire(&mut self, principal: &Principal) -> Result<(), Scope> {
        self.quotas.acquire(principal)
    }

    /// Adds a waiter to the queue of an exhausted scope.
    pub fn enqueue(&mut self, scope: Scope, principal: Principal, waiter: W) {
        let queue = self.queues.entry(scope).or_default();
        if queue.len() == queue.capacity() {
            // Before it grows: so those that have left never outnumber those that wait.
            queue.retain(|(_, waiter)| (self.is_waiting)(waiter));
        }
        queue.push_back((principal, waiter));
    }

    /// Returns one unit. Gives the waiters that got one because of it.
    pub fn release(&mut self, principal: &Principal) -> Vec<(Principal, W)> {
        self.quotas.release(principal);
        let mut granted = Vec::new();
        for scope in std::iter::once(Scope::Total).chain(principal.scopes()) {
            // Drains the queue as far as the scope allows: nothing else would wake its first waiter.
            while !self.quotas.is_exhausted(&scope)
                && let Some((principal, waiter)) = self.pop_waiting(&scope)
            {
                match self.quotas.acquire(&principal) {
                    Ok(()) => granted.push((principal, waiter)),
                    Err(other) => self.enqueue(other, principal, waiter),
                }
            }
        }
        granted
    }

    /// Whether a request waits for what this principal uses.
    #[must_use]
    pub fn is_contended(&self, principal: &Principal) -> bool {
        principal.scopes().any(|scope| self.queues.contains_key(&scope))
    }

    /// How many wait, those included that have left unnoticed.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.queues.values().map(VecDeque::len).sum()
    }

    /// Removes waiters, and gives each with the scope that it waited for.
    pub fn remove(&mut self, mut removes: impl FnMut(&W) -> bool) -> Vec<(Scope, W)> {
        let mut removed = Vec::new();
        for (scope, queue) in &mut self.queues {
            if queue.iter().any(|(_, waiter)| removes(waiter)) {
                let (out, rest): (Waiters<W>, Waiters<W>) =
                    std::mem::take(queue).into_iter().partition(|(_, waiter)| removes(waiter));
                *queue = rest;
                removed.extend(out.into_iter().map(|(_, waiter)| (scope.clone(), waiter)));
            }
        }
        self.queues.retain(|_, queue| !queue.is_empty());
        removed
    }

    /// Takes the first waiter of a queue that is still there.
    fn pop_waiting(&mut self, scope: &Scope) -> Option<(Principal, W)> {
        let queue = self.queues.get_mut(scope)?;
        let mut next = None;
        while next.is_none()
            && let Some((principal, waiter)) = queue.pop_front()
        {
            next = (self.is_waiting)(&waiter).then_some((principal, waiter));
        }
        if queue.is_empty() {
            self.queues.remove(scope);
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;

    /// Of eight units a client may use four, and an address six. Waiter 0 has left.
    fn queue() -> FairQueue<u32> {
        FairQueue::new(QuotaLimits::with_share(8, 50), |waiter| *waiter != 0)
    }

    fn client(last: u8, name: &str) -> Principal {
        Principal::from_address(Some(IpAddr::from([10, 0, 0, last]))).with_name(name)
    }

    /// Whether a waiter gets a unit at once; otherwise it is enqueued.
    fn enter(queue: &mut FairQueue<u32>, principal: &Principal, waiter: u32) -> bool {
        let acquired = queue.try_acquire(principal);
        acquired.map_err(|scope| queue.enqueue(scope, principal.clone(), waiter)).is_ok()
    }

    /// The waiters that get a unit when this principal returns one.
    fn release(queue: &mut FairQueue<u32>, principal: &Principal) -> Vec<u32> {
        queue.release(principal).into_iter().map(|(_, waiter)| waiter).collect()
    }

    #[test]
    fn clients_wait_behind_their_own_requests_only() {
        let mut queue = queue();
        let (ada, bob) = (client(1, "ada"), client(2, "bob"));
        let entered: Vec<_> = (1..=6).map(|waiter| enter(&mut queue, &ada, waiter)).collect();
        assert_eq!(entered, [true, true, true, true, false, false]);
        assert!(enter(&mut queue, &bob, 7), "bob does not wait behind ada");
        assert!(queue.is_contended(&ada) && !queue.is_contended(&bob));
        assert_eq!(release(&mut queue, &bob), [0; 0]);
        assert_eq!(release(&mut queue, &ada), [5]);
        assert_eq!(release(&mut queue, &ada), [6]);
        assert!(!queue.is_contended(&ada));
        (0..4).for_each(|_| assert_eq!(release(&mut queue, &ada), [0; 0]));
        assert!(queue.queues.is_empty());
    }

    #[test]
    fn freed_units_go_to_waiters_within_their_own_quota() {
        let mut queue = queue();
        let (ada, bob, eve) = (client(1, "ada"), client(2, "bob"), client(3, "eve"));
        (0..4).for_each(|_| assert!(enter(&mut queue, &ada, 1)));
        (0..3).for_each(|_| assert!(enter(&mut queue, &bob, 1)));
        assert!(enter(&mut queue, &eve, 1));
        assert!(!enter(&mut queue, &ada, 2) && !enter(&mut queue, &eve, 3));
        // Ada is first in the queue, and has used up the quota of that name.
        assert_eq!(release(&mut queue, &bob), [3]);
        assert_eq!(release(&mut queue, &ada), [2]);
        assert!(queue.try_acquire(&Principal::operator()).is_ok(), "the operator never waits");
        assert!(!enter(&mut queue, &bob, 4));
        assert_eq!(release(&mut queue, &Principal::operator()), [0; 0]);
        assert_eq!(release(&mut queue, &eve), [4]);
    }

    #[test]
    fn waiters_that_left_are_skipped_and_do_not_accumulate() {
        let limits = QuotaLimits::with_share(2, 50);
        let mut queue: FairQueue<u32> = FairQueue::new(limits, |waiter| *waiter != 0);
        let (ada, far) = (client(1, "ada"), client(2, "ada"));
        assert!(enter(&mut queue, &ada, 1));
        (0..1_000).for_each(|_| assert!(!enter(&mut queue, &ada, 0)));
        assert!(queue.waiting() < 10, "{}", queue.waiting());
        assert!(!enter(&mut queue, &far, 2));
        assert_eq!(release(&mut queue, &ada), [2]);
        assert!(!enter(&mut queue, &ada, 3));
        assert_eq!(queue.remove(|waiter| *waiter == 3), [(Scope::Client("ada".into()), 3)]);
        assert_eq!((release(&mut queue, &far), queue.waiting()), (Vec::new(), 0));
    }
}
