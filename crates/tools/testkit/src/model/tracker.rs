//! Tracks what a program's steps do to the schema: rollbacks undo changes.

use super::step::{Mark, Step};
use super::world::World;
use crate::Table;

/// The tables now, and at each savepoint of the open transaction.
#[derive(Clone)]
pub(crate) struct Tracker {
    world: World,
    /// The savepoints of the open transaction; the first is its beginning.
    open: Option<Vec<(&'static str, World)>>,
}

impl Tracker {
    pub(crate) const fn new(world: World) -> Self {
        Self { world, open: None }
    }

    /// The tables as the session sees them.
    pub(crate) const fn world(&self) -> &World {
        &self.world
    }

    /// The tables as other sessions see them.
    pub(crate) fn elsewhere(&self) -> &World {
        let first = self.open.as_ref().and_then(|marks| marks.first());
        first.map_or(&self.world, |(_, world)| world)
    }

    pub(crate) const fn is_open(&self) -> bool {
        self.open.is_some()
    }

    pub(crate) fn has_mark(&self, name: &str) -> bool {
        self.open.iter().flatten().any(|(mark, _)| *mark == name)
    }

    /// Whether the step fits the current tables; false if shrinking removed what it needs.
    pub(crate) fn fits(&self, step: &Step) -> bool {
        let is = |world: &World, table: &Table| {
            world.tables.iter().any(|known| known.id() == table.id())
        };
        match step {
            Step::Write(entry) => is(&self.world, &entry.table),
            Step::Batch(entries, _) => entries.iter().all(|entry| is(&self.world, &entry.table)),
            Step::Change(table, ..) | Step::Get(table, _) => is(&self.world, table),
            Step::Query(select) | Step::Open(_, select) => is(&self.world, &select.table),
            Step::Elsewhere(select) => is(self.elsewhere(), &select.table),
            Step::Alter(change) => is(&self.world, &change.old),
            _ => true,
        }
    }

    /// Records a step.
    pub(crate) fn note(&mut self, step: &Step) {
        match step {
            Step::Alter(change) => self.world.replace(&change.new),
            Step::Control(mark) => self.control(*mark),
            Step::NewSession | Step::Reopen => self.control(Mark::Rollback),
            _ => {}
        }
    }

    fn control(&mut self, mark: Mark) {
        match (mark, &mut self.open) {
            (Mark::Begin, open @ None) => *open = Some(vec![("", self.world.clone())]),
            (Mark::Commit, open) => *open = None,
            (Mark::Rollback, open) => {
                if let Some((_, before)) = open.take().and_then(|marks| marks.into_iter().next()) {
                    self.world = before;
                }
            }
            (Mark::Savepoint(name), Some(marks)) => marks.push((name, self.world.clone())),
            (Mark::Release(name) | Mark::RollbackTo(name), Some(marks)) => {
                let Some(place) = marks.iter().rposition(|(mark, _)| *mark == name) else {
                    return;
                };
                if matches!(mark, Mark::Release(_)) {
                    marks.truncate(place);
                    return;
                }
                marks.truncate(place + 1);
                if let Some((_, before)) = marks.last() {
                    self.world = before.clone();
                }
            }
            _ => {}
        }
    }
}
