//! Random programs: their writes.

use super::queries;
use super::random::Random;
use super::step::{Addition, Change, Mark, Step};
use super::tracker::Tracker;
use super::world::{self, World};
use crate::{Entry, NULL, Table};
use bobak_core::{Assign, Collation, FieldSet, OnError, TableSchema, Type, Value, Verb};
use std::sync::Arc;

/// How many cursors a program keeps open.
pub(crate) const CURSORS: usize = 4;

/// How many columns and indexes a program adds: enough to reach every cache.
const MOST_GROWN: usize = 6;

/// Generates a program's steps. It tracks which transaction control steps are valid, so that most are.
pub(crate) struct Generator {
    random: Random,
    tracker: Tracker,
    addition: usize,
}

impl Generator {
    pub(crate) const fn new(random: Random, world: World) -> Self {
        Self { random, tracker: Tracker::new(world), addition: 0 }
    }

    pub(crate) fn step(&mut self) -> Step {
        let step = self.any_step();
        self.tracker.note(&step);
        step
    }

    fn any_step(&mut self) -> Step {
        let weights = [300, 120, 60, 60, 120, 30, 140, 40, 60, 30, 10, 3, 8, 3];
        let random = &mut self.random;
        match random.weighted(&weights) {
            0 => Step::Write(self.entry()),
            1 => self.batch(),
            2 => self.change(),
            3 => {
                let table = self.tracker.world().table(random);
                let key = world::key(random, &table);
                Step::Get(table, key)
            }
            4 => Step::Query(queries::select(random, self.tracker.world())),
            5 => Step::Elsewhere(queries::select(random, self.tracker.elsewhere())),
            6 => Step::Control(self.control()),
            7 => Step::Open(random.below(CURSORS), queries::select(random, self.tracker.world())),
            8 => Step::Fetch(random.below(CURSORS)),
            9 => Step::Drain(random.below(CURSORS)),
            10 => Step::Close(random.below(CURSORS)),
            11 => Step::NewSession,
            12 if self.addition < MOST_GROWN && self.may_grow() => self.grow(),
            12 => Step::Write(self.entry()),
            _ => Step::Reopen,
        }
    }

    /// Whether the schema may change now: not in a transaction if the engine commits at a schema change.
    const fn may_grow(&self) -> bool {
        !(self.random.capabilities.implicit_ddl_commit && self.tracker.is_open())
    }

    fn grow(&mut self) -> Step {
        self.addition += 1;
        let random = &mut self.random;
        let old = self.tracker.world().table(random);
        let (new, addition) = if random.percent(50) {
            (world::with_column(random, &old, self.addition), Addition::Column)
        } else {
            (world::with_index(random, &old, self.addition), Addition::Index)
        };
        let Ok(new) = new else {
            // No name occurs twice, so there is always one.
            return Step::Write(self.entry());
        };
        Step::Alter(Change { old, new, addition })
    }

    fn control(&mut self) -> Mark {
        let random = &mut self.random;
        let name = random.pick(&["a", "b", "c"]).copied().unwrap_or("a");
        let any = [
            Mark::Begin,
            Mark::Commit,
            Mark::Rollback,
            Mark::Savepoint(name),
            Mark::Release(name),
            Mark::RollbackTo(name),
        ];
        let weights: [usize; 6] = if !self.tracker.is_open() {
            [60, 1, 1, 1, 1, 1]
        } else if self.tracker.has_mark(name) {
            [1, 12, 8, 20, 12, 25]
        } else {
            [1, 12, 8, 40, 1, 1]
        };
        any.get(random.weighted(&weights)).copied().unwrap_or(Mark::Begin)
    }

    fn entry(&mut self) -> Entry {
        let table = self.tracker.world().table(&mut self.random);
        let (verb, fields) = self.head(&table);
        self.row(&table, verb, fields)
    }

    fn head(&mut self, table: &Table) -> (Verb, FieldSet) {
        let verbs = [
            Verb::Insert,
            Verb::InsertOrIgnore,
            Verb::InsertOrReplace,
            Verb::Upsert,
            Verb::Update,
            Verb::Delete,
        ];
        let verb = self.random.weighted(&[35, 10, 12, 15, 18, 10]);
        let mut verb = verbs.get(verb).copied().unwrap_or(Verb::Insert);
        if let (Verb::Upsert, true, Some(index)) =
            (verb, self.random.percent(50), table.indexes().iter().position(|index| index.unique))
        {
            verb = Verb::UpsertOn(index as u16);
        }
        (verb, self.fields(table, verb))
    }

    fn fields(&mut self, table: &Table, verb: Verb) -> FieldSet {
        if !verb.sets_fields() {
            return FieldSet::EMPTY;
        }
        let all = table.updated_fields();
        if self.random.percent(50) {
            return all;
        }
        all.iter().filter(|_| self.random.percent(50)).collect()
    }

    fn row(&mut self, table: &Table, verb: Verb, fields: FieldSet) -> Entry {
        let random = &mut self.random;
        let values = if verb == Verb::Delete {
            world::key(random, table)
        } else {
            let mut values = world::values(random, table);
            if verb == Verb::Update {
                // An update names its row.
                for place in table.key() {
                    if let (Some(value), Some(column)) =
                        (values.get_mut(*place), table.columns().get(*place))
                    {
                        *value = world::plain(random, column);
                    }
                }
            }
            values
        };
        Entry { table: Arc::clone(table), verb, fields, values }
    }

    /// Short runs of all kinds, and now and then a long one with almost only valid rows.
    fn batch(&mut self) -> Step {
        let mut entries = Vec::new();
        for _ in 0..self.random.between(0, 5) {
            let table = self.tracker.world().table(&mut self.random);
            let (verb, fields) = self.head(&table);
            let long = self.random.percent(8);
            let rows = if long { self.random.between(50, 300) } else { self.random.between(1, 8) };
            for number in 0..rows {
                let mut entry = self.row(&table, verb, fields);
                if long && !self.random.percent(1) {
                    make_good(&mut entry, number);
                }
                entries.push(entry);
            }
        }
        let on_error = if self.random.percent(50) { OnError::Stop } else { OnError::Continue };
        Step::Batch(entries, on_error)
    }

    fn change(&mut self) -> Step {
        let random = &mut self.random;
        let table = self.tracker.world().table(random);
        let condition = match random.below(8) {
            0 => None,
            _ => Some(queries::condition(random, &table, 2)),
        };
        if random.percent(25) {
            return Step::Change(table, condition, None);
        }
        let assign = assigns(random, &table);
        Step::Change(table, condition, Some(assign))
    }
}

/// Makes a row unlikely to collide with existing keys and unique values.
fn make_good(entry: &mut Entry, number: usize) {
    let unique = entry.table.indexes().iter().filter(|index| index.unique);
    let places: Vec<usize> = unique.flat_map(|index| index.columns.clone()).collect();
    for (place, column) in entry.table.columns().iter().enumerate() {
        let Some(value) = entry.values.get_mut(place).filter(|_| entry.verb != Verb::Delete) else {
            continue;
        };
        let in_key = entry.table.key().contains(&place);
        *value = match column.ty {
            Type::I64 if in_key && entry.verb != Verb::Update => NULL,
            Type::Text if in_key => format!("long{number}").into(),
            Type::I32 if in_key => Value::Int(100 + number as i64),
            Type::Uuid if in_key => {
                [&[200_u8; 12][..], &(number as u32).to_be_bytes()].concat().into()
            }
            _ if places.contains(&place) && column.nullable => NULL,
            _ if value.is_null() && !column.nullable && !in_key => match column.ty {
                Type::Text => "n".into(),
                _ => Value::Int(1),
            },
            _ => continue,
        };
    }
}

/// One or two assignments. Only one if it may violate a rule: the contract does not say which of two
/// violations is reported.
fn assigns(random: &mut Random, table: &TableSchema) -> Vec<Assign> {
    let mut free = Vec::new();
    let mut bound = Vec::new();
    for (place, column) in table.columns().iter().enumerate() {
        if table.key().contains(&place) || table.version() == Some(place) {
            continue;
        }
        let unique =
            table.indexes().iter().any(|index| index.unique && index.columns.contains(&place));
        if unique || column.reference.is_some() {
            bound.push(place);
        } else {
            free.push(place);
        }
    }
    let set = |random: &mut Random, column: usize| {
        let value = world::value(random, table, column);
        let nullable = table.columns().get(column).is_some_and(|c| c.nullable);
        let value = match table.columns().get(column) {
            Some(schema) if value.is_null() && !nullable => world::plain(random, schema),
            _ => value,
        };
        Assign::Set { column, value }
    };
    if !bound.is_empty() && random.percent(30) {
        let column = random.pick(&bound).copied().unwrap_or_default();
        return vec![set(random, column)];
    }
    let first = random.below(free.len().max(1));
    let mut chosen: Vec<usize> =
        free.iter().skip(first).take(random.between(1, 2)).copied().collect();
    chosen.dedup();
    chosen
        .into_iter()
        .map(|column| match table.columns().get(column) {
            Some(schema) if is_number(schema.ty) && random.percent(60) => {
                Assign::Add { column, value: world::plain(random, schema) }
            }
            _ => set(random, column),
        })
        .collect()
}

fn is_number(ty: Type) -> bool {
    matches!(ty, Type::I64 | Type::F64 | Type::Currency)
}

/// Whether equal values of a column are identical. If not, the contract does not say which of them represents
/// a group.
pub(crate) fn is_exact(table: &TableSchema, place: usize) -> bool {
    table
        .columns()
        .get(place)
        .is_some_and(|column| column.collation == Collation::Binary && column.ty != Type::Any)
}
