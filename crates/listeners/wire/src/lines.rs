//! Who waits for a share, in the order in which they came: each behind those of the same.

use crate::shares::{Holder, Part, Portion, Quotas};
use std::collections::{HashMap, VecDeque};

/// Quotas, and those who wait for theirs. Who waits is in the line of one share that is used up.
#[derive(Debug)]
pub struct Lines<W> {
    shares: Quotas,
    held: HashMap<Part, Line<W>>,
    /// Whether somebody still waits.
    waits: fn(&W) -> bool,
}

/// Those who wait for the same share.
pub(crate) type Line<W> = VecDeque<(Holder, W)>;

impl<W> Lines<W> {
    /// Nothing is taken, and nobody waits. `waits` tells whether somebody in line is still there.
    #[must_use]
    pub fn new(most: Portion, waits: fn(&W) -> bool) -> Self {
        Self { shares: Quotas::new(most), held: HashMap::new(), waits }
    }

    /// Takes a share.
    ///
    /// # Errors
    /// The share that is used up, for which one may [wait](Self::wait).
    pub fn take(&mut self, holder: &Holder) -> Result<(), Part> {
        self.shares.take(holder)
    }

    /// Has somebody wait for a share that is used up.
    pub fn wait(&mut self, part: Part, holder: Holder, who: W) {
        let line = self.held.entry(part).or_default();
        if line.len() == line.capacity() {
            // Before it grows: so those who have left never are more than those who wait.
            line.retain(|(_, who)| (self.waits)(who));
        }
        line.push_back((holder, who));
    }

    /// Gives a share back: those who have theirs by that, and go on.
    pub fn leave(&mut self, holder: &Holder) -> Vec<(Holder, W)> {
        self.shares.give_back(holder);
        let mut free = Vec::new();
        for part in std::iter::once(Part::Whole).chain(holder.parts()) {
            // No line is left where there is room: nobody would call its first.
            while !self.shares.is_full(&part)
                && let Some((holder, who)) = self.next(&part)
            {
                match self.shares.take(&holder) {
                    Ok(()) => free.push((holder, who)),
                    Err(other) => self.wait(other, holder, who),
                }
            }
        }
        free
    }

    /// Whether somebody waits for what this one has.
    #[must_use]
    pub fn holds_back(&self, holder: &Holder) -> bool {
        holder.parts().any(|part| self.held.contains_key(&part))
    }

    /// How many wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.held.values().map(VecDeque::len).sum()
    }

    /// Takes those out of the lines who shall not wait any more, with the share that they waited
    /// for.
    pub fn remove(&mut self, mut gone: impl FnMut(&W) -> bool) -> Vec<(Part, W)> {
        let mut removed = Vec::new();
        for (part, line) in &mut self.held {
            if line.iter().any(|(_, who)| gone(who)) {
                let (out, rest): (Line<W>, Line<W>) =
                    std::mem::take(line).into_iter().partition(|(_, who)| gone(who));
                *line = rest;
                removed.extend(out.into_iter().map(|(_, who)| (part.clone(), who)));
            }
        }
        self.held.retain(|_, line| !line.is_empty());
        removed
    }

    /// The first in a line who is still there.
    fn next(&mut self, part: &Part) -> Option<(Holder, W)> {
        let line = self.held.get_mut(part)?;
        let mut next = None;
        while next.is_none()
            && let Some((holder, who)) = line.pop_front()
        {
            next = (self.waits)(&who).then_some((holder, who));
        }
        if line.is_empty() {
            self.held.remove(part);
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;

    /// Of eight one caller may have four, and an address six; who waits is there unless it is 0.
    fn lines() -> Lines<u32> {
        Lines::new(Portion::of(8, 50), |who| *who != 0)
    }

    fn at(last: u8, name: &str) -> Holder {
        Holder::at(Some(IpAddr::from([10, 0, 0, last]))).named(name)
    }

    fn enter(lines: &mut Lines<u32>, holder: &Holder, who: u32) -> bool {
        lines.take(holder).map_err(|part| lines.wait(part, holder.clone(), who)).is_ok()
    }

    /// Who goes on by it.
    fn called(lines: &mut Lines<u32>, holder: &Holder) -> Vec<u32> {
        lines.leave(holder).into_iter().map(|(_, who)| who).collect()
    }

    #[test]
    fn each_waits_for_those_of_its_own() {
        let mut lines = lines();
        let (ada, bob) = (at(1, "ada"), at(2, "bob"));
        let inside: Vec<_> = (1..=6).map(|who| enter(&mut lines, &ada, who)).collect();
        assert_eq!(inside, [true, true, true, true, false, false]);
        assert!(enter(&mut lines, &bob, 7), "he does not wait behind her");
        assert!(lines.holds_back(&ada) && !lines.holds_back(&bob));
        assert_eq!(called(&mut lines, &bob), [0; 0]);
        assert_eq!(called(&mut lines, &ada), [5]);
        assert_eq!(called(&mut lines, &ada), [6]);
        assert!(!lines.holds_back(&ada));
        (0..4).for_each(|_| assert_eq!(called(&mut lines, &ada), [0; 0]));
        assert!(lines.held.is_empty());
    }

    #[test]
    fn the_whole_is_given_to_those_who_may_have_of_it() {
        let mut lines = lines();
        let (ada, bob, eve) = (at(1, "ada"), at(2, "bob"), at(3, "eve"));
        (0..4).for_each(|_| assert!(enter(&mut lines, &ada, 1)));
        (0..3).for_each(|_| assert!(enter(&mut lines, &bob, 1)));
        assert!(enter(&mut lines, &eve, 1));
        assert!(!enter(&mut lines, &ada, 2) && !enter(&mut lines, &eve, 3));
        // Ada, who is first in line, has her share already.
        assert_eq!(called(&mut lines, &bob), [3]);
        assert_eq!(called(&mut lines, &ada), [2]);
        assert!(lines.take(&Holder::operator()).is_ok(), "whom no line holds up");
        assert!(!enter(&mut lines, &bob, 4));
        assert_eq!(called(&mut lines, &Holder::operator()), [0; 0]);
        assert_eq!(called(&mut lines, &eve), [4]);
    }

    #[test]
    fn who_has_left_is_passed_over_and_keeps_nobody_waiting() {
        let mut lines: Lines<u32> = Lines::new(Portion::of(2, 50), |who| *who != 0);
        let (ada, far) = (at(1, "ada"), at(2, "ada"));
        assert!(enter(&mut lines, &ada, 1));
        (0..1_000).for_each(|_| assert!(!enter(&mut lines, &ada, 0)));
        assert!(lines.waiting() < 10, "{}", lines.waiting());
        assert!(!enter(&mut lines, &far, 2));
        assert_eq!(called(&mut lines, &ada), [2]);
        assert!(!enter(&mut lines, &ada, 3));
        assert_eq!(lines.remove(|who| *who == 3), [(Part::Caller("ada".into()), 3)]);
        assert_eq!((called(&mut lines, &far), lines.waiting()), (Vec::new(), 0));
    }
}
