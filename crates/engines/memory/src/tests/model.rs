//! Random programs against a naive model: a map from keys to rows, with the rules written out.

use super::queries::Random;
use super::*;
use crate::SnapshotFormat;
use bobak_core::{Assign, BulkChange, Comparison, ErrorKind, GeneratedKey, TransactionControl};
use std::collections::BTreeMap;

type Rows = BTreeMap<i64, Values>;

#[derive(Default)]
struct Model {
    rows: Rows,
    /// The committed rows, and the savepoints of the open transaction.
    committed: Option<Rows>,
    marks: Vec<(String, Rows)>,
}

type WriteResult = std::result::Result<Outcome, ErrorKind>;

fn key_of(values: &[Value<'_>]) -> Option<i64> {
    if let Value::Int(key) = values[0] { Some(key) } else { None }
}

impl Model {
    /// The keys of other rows with the row's e-mail.
    fn with_email(&self, key: Option<i64>, values: &Values) -> Option<i64> {
        let same = |(other, row): &(&i64, &Values)| {
            Some(**other) != key && !values[2].is_null() && row[2] == values[2]
        };
        self.rows.iter().find(same).map(|(key, _)| *key)
    }

    fn write(&mut self, table: &TableSchema, verb: Verb, values: &Values) -> WriteResult {
        match verb {
            Verb::Delete => {
                let gone = self.rows.remove(&key_of(values).unwrap());
                return Ok(Outcome::Changed(u64::from(gone.is_some())));
            }
            Verb::Update => return self.update(table, values, true),
            _ => {}
        }
        let next = self.rows.last_key_value().map_or(1, |(last, _)| last + 1);
        let (key, given) = match key_of(values) {
            Some(key) => (key, None),
            None => (next, Some(GeneratedKey::Int(next))),
        };
        if matches!(values[3], Value::Int(..0)) {
            return Err(ErrorKind::Constraint);
        }
        let mut row = values.clone();
        row[0] = key.into();
        let same_key = self.rows.contains_key(&key);
        let same_email = self.with_email(Some(key), &row);
        match verb {
            Verb::Upsert if same_key => return self.update(table, &row, false),
            Verb::InsertOrIgnore if same_key || same_email.is_some() => {
                return Ok(Outcome::Ignored);
            }
            Verb::InsertOrReplace => {
                same_email.map(|other| self.rows.remove(&other));
            }
            _ if same_key || same_email.is_some() => return Err(ErrorKind::Duplicate),
            _ => {}
        }
        self.rows.insert(key, row);
        Ok(Outcome::Inserted(given))
    }

    fn update(&mut self, table: &TableSchema, values: &Values, checked: bool) -> WriteResult {
        let key = key_of(values).unwrap();
        let Some(old) = self.rows.get(&key) else { return Err(ErrorKind::NotFound) };
        if checked && old[4] != values[4] {
            return Err(ErrorKind::Conflict);
        }
        let Value::Int(version) = old[4] else { panic!("no version") };
        let mut row = old.clone();
        table.updated_fields().iter().for_each(|position| row[position] = values[position].clone());
        row[4] = (version + 1).into();
        self.replace(key, row).map(|()| Outcome::Changed(1))
    }

    fn replace(&mut self, key: i64, row: Values) -> std::result::Result<(), ErrorKind> {
        if matches!(row[3], Value::Int(..0)) {
            return Err(ErrorKind::Constraint);
        }
        if self.with_email(Some(key), &row).is_some() {
            return Err(ErrorKind::Duplicate);
        }
        self.rows.insert(key, row);
        Ok(())
    }

    fn change(
        &mut self,
        table: &TableSchema,
        condition: &Condition,
        assign: Option<&[Assign]>,
    ) -> std::result::Result<u64, ErrorKind> {
        let keeps = |row: &Values| condition.evaluate(table, &row.as_slice()) == Some(true);
        let found: Vec<_> = self.rows.iter().filter(|(_, row)| keeps(row)).collect();
        let found: Vec<(i64, Values)> = found.iter().map(|(k, row)| (**k, row.to_vec())).collect();
        let before = self.rows.clone();
        for (key, mut row) in found.iter().cloned() {
            let Some(assign) = assign else {
                self.rows.remove(&key);
                continue;
            };
            for step in assign {
                match step {
                    Assign::Set { column, value } => row[*column] = value.clone(),
                    Assign::Add { column, value } => {
                        if let (Value::Int(a), Value::Int(b)) = (&row[*column], value) {
                            row[*column] = Value::Int(a + b);
                        }
                    }
                }
            }
            if let Value::Int(version) = row[4] {
                row[4] = Value::Int(version + 1);
            }
            if let Err(kind) = self.replace(key, row) {
                self.rows = before;
                return Err(kind);
            }
        }
        Ok(found.len() as u64)
    }

    fn control(&mut self, step: TransactionControl<'_>) -> std::result::Result<(), ErrorKind> {
        let position = |marks: &[(String, Rows)], name: &str| {
            marks.iter().rposition(|(other, _)| other == name).ok_or(ErrorKind::Misuse)
        };
        match step {
            TransactionControl::Begin if self.committed.is_some() => return Err(ErrorKind::Misuse),
            TransactionControl::Begin => self.committed = Some(self.rows.clone()),
            _ if self.committed.is_none() => return Err(ErrorKind::Misuse),
            TransactionControl::Commit => self.committed = None,
            TransactionControl::Rollback => self.rows = self.committed.take().unwrap_or_default(),
            TransactionControl::Savepoint(name) => {
                self.marks.push((name.to_owned(), self.rows.clone()))
            }
            TransactionControl::Release(name) => {
                let position = position(&self.marks, name)?;
                self.marks.truncate(position);
            }
            TransactionControl::RollbackTo(name) => {
                let position = position(&self.marks, name)?;
                self.marks.truncate(position + 1);
                self.rows = self.marks[position].1.clone();
            }
        }
        if self.committed.is_none() {
            self.marks.clear();
        }
        Ok(())
    }
}

fn person_values(random: &mut Random, verb: Verb) -> Values {
    let key = random.below(40) as i64;
    if verb == Verb::Delete {
        return vec![key.into()];
    }
    let makes = verb != Verb::Update && random.below(3) == 0;
    let email = random.pick(&[None, Some("a"), Some("b"), Some("c"), Some("d"), Some("e")]);
    let age = random.pick(&[None, Some(-1), Some(0), Some(1), Some(2), Some(3)]);
    let name = random.pick(&["x", "y", "a long name that fills more than a word"]);
    let mut values = a_person((!makes).then_some(key), name, email, age);
    values[4] = (1 + random.below(2) as i64).into();
    values
}

const VERBS: [Verb; 6] = [
    Verb::Insert,
    Verb::InsertOrIgnore,
    Verb::InsertOrReplace,
    Verb::Upsert,
    Verb::Update,
    Verb::Delete,
];

fn condition(random: &mut Random) -> Condition {
    let comparison =
        random.pick(&[Comparison::Equal, Comparison::Less, Comparison::GreaterOrEqual]);
    let column = random.pick(&[0, 3, 4]);
    let value = Value::Int(random.below(if column == 0 { 40 } else { 4 }) as i64);
    Condition::Compare { column, comparison, value }
}

fn check(session: &dyn Session, table: &Arc<TableSchema>, model: &Model) {
    let expected: Vec<Values> = model.rows.values().cloned().collect();
    assert_eq!(all(session, table), expected);
    for step in [vec![3, 1, 0], vec![2, 0]] {
        let mut select = Select::all(table);
        let order = |&column: &usize| bobak_core::Order { column, descending: false };
        select.order = step.iter().map(order).collect();
        assert_eq!(rows(session, &select).len(), expected.len());
    }
    for values in &expected {
        let found = session.get(table, &values[..1], &mut |row| {
            assert_eq!(row.get(2).to_owned(), values[2]);
            Ok(())
        });
        assert!(found.unwrap());
    }
}

/// One step of a program, done by the engine and by the model.
fn step(random: &mut Random, session: &dyn Session, table: &Arc<TableSchema>, model: &mut Model) {
    match random.below(20) {
        0..=9 => {
            let verb = random.pick(&VERBS);
            let values = person_values(random, verb);
            let expected = model.write(table, verb, &values);
            let found = write(session, table, verb, &values).map_err(|error| error.kind());
            assert_eq!(found, expected, "{verb:?} {values:?}");
        }
        10..=12 => {
            let on_error = random.pick(&[OnError::Stop, OnError::Continue]);
            send_batch(random, session, table, model, on_error);
        }
        13..=14 => {
            let condition = condition(random);
            let set = Assign::Set { column: 2, value: random.pick(&[Value::Null, "z".into()]) };
            let add = Assign::Add { column: 3, value: random.pick(&[(-1).into(), 1.into()]) };
            let assign = random.pick(&[None, Some(vec![set.clone()]), Some(vec![add, set])]);
            let expected = model.change(table, &condition, assign.as_deref());
            let (condition, assign) = (Some(&condition), assign.as_deref());
            let found = session.change(&BulkChange { table, condition, assign });
            assert_eq!(found.map_err(|error| error.kind()), expected);
        }
        _ => {
            let control = random.pick(&[
                TransactionControl::Begin,
                TransactionControl::Begin,
                TransactionControl::Commit,
                TransactionControl::Rollback,
                TransactionControl::Savepoint("a"),
                TransactionControl::Savepoint("b"),
                TransactionControl::Release("a"),
                TransactionControl::RollbackTo("a"),
                TransactionControl::RollbackTo("b"),
            ]);
            let found = session.control(control).map_err(|error| error.kind());
            assert_eq!(found, model.control(control), "{control:?}");
        }
    }
}

fn send_batch(
    random: &mut Random,
    session: &dyn Session,
    table: &Arc<TableSchema>,
    model: &mut Model,
    on_error: OnError,
) {
    let mut batch = WriteBatch::new();
    let mut expected = Vec::new();
    let (before, mut failed) = (model.rows.clone(), None);
    for row in 0..random.below(12) {
        let verb = random.pick(&VERBS);
        let values = &person_values(random, verb)[..];
        let fields = table.updated_fields();
        batch.push(&Write { table, verb, fields, values }).unwrap();
        if failed.is_none() {
            let result = model.write(table, verb, &values.to_vec());
            match (result, on_error) {
                (Err(kind), OnError::Stop) => failed = Some((kind, Some(row))),
                (result, _) => expected.push(result),
            }
        }
    }
    let (outcomes, result) = run(session, &batch, on_error);
    let outcomes: Vec<WriteResult> =
        outcomes.into_iter().map(|outcome| outcome.map_err(|error| error.kind())).collect();
    assert_eq!(outcomes, expected);
    assert_eq!(result.err().map(|error| (error.kind(), error.row())), failed);
    if failed.is_some() {
        model.rows = before;
    }
}

#[test]
fn random_programs_behave_like_a_naive_model() {
    let folder = Folder::new("model");
    let table = person();
    for seed in 0..12 {
        let mut random = Random(seed);
        let path = folder.file(&seed.to_string());
        let open = |format| Memory::builder().snapshot(&path).format(format).open().unwrap();
        let mut model = Model::default();
        create(&open(SnapshotFormat::Binary), &[]).unwrap();
        for round in 0..6 {
            let format = random.pick(&[SnapshotFormat::Binary, SnapshotFormat::Json]);
            let memory = open(format);
            if round == 0 {
                create(&memory, &[&table]).unwrap();
            }
            let session = memory.session().unwrap();
            check(&*session, &table, &model);
            for _ in 0..200 {
                step(&mut random, &*session, &table, &mut model);
                check(&*session, &table, &model);
            }
            if model.committed.is_some() {
                // Dropping the session rolls back.
                model.control(TransactionControl::Rollback).unwrap();
            }
            drop(session);
            memory.flush().unwrap();
        }
    }
}
