//! Foreign keys, with each action for the deletion of the referenced row.

use super::{NEW, ONE, equal};
use crate::{
    Check, Entry, Harness, NULL, Probe, Table, create, fails_in, holds, row, same, tables,
};
use bobak_core::{ErrorKind, OnDelete, OnError, TransactionControl, Verb};

/// Runs `case` on team and player, unless the engine has no foreign keys.
fn linked(
    harness: &dyn Harness,
    on_delete: OnDelete,
    case: impl FnOnce(&Probe<'_>, &Table, &Table) -> Check,
) -> Check {
    let (team, player) = (tables::team()?, tables::player(on_delete)?);
    let store = harness.fresh()?;
    match create(store.engine(), &[&team, &player]) {
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            holds("it reports no foreign keys", !store.engine().capabilities().foreign_keys)?;
            return holds("nothing was made", store.engine().tables()?.is_empty());
        }
        other => other?,
    }
    holds("it reports foreign keys", store.engine().capabilities().foreign_keys)?;
    let probe = Probe::new(store.engine())?;
    probe.insert_all(&team, [row![1, "red"], row![2, "blue"]])?;
    probe.insert_all(
        &player,
        [row![1, "Ada", 1], row![2, "Bob", 1], row![3, "Eve", 2], row![4, "Joe", NULL]],
    )?;
    case(&probe, &team, &player)
}

/// The error of a foreign key names the referring table and column, whichever table was written.
fn fails_at_team<T: std::fmt::Debug>(what: &str, result: bobak_core::Result<T>) -> Check {
    let error = fails_in(what, result, ErrorKind::Constraint, "player")?;
    same(what, error.column(), Some("team"))
}

/// A row refers to an existing row, or to none.
pub fn a_link_needs_its_row(harness: &dyn Harness) -> Check {
    linked(harness, OnDelete::Restrict, |probe, team, player| {
        for verb in [Verb::Insert, Verb::InsertOrIgnore, Verb::InsertOrReplace, Verb::Upsert] {
            let wrong = probe.write(player, verb, row![9, "x", 3]);
            fails_at_team(&format!("{verb:?}"), wrong)?;
        }
        fails_at_team("update", probe.update(player, row![1, "x", 3]))?;
        let set = bobak_core::Assign::Set { column: 2, value: 3.into() };
        fails_at_team("change", probe.change(player, None, &[set]))?;
        same("rows", probe.count(player)?, 4)?;
        probe.insert(team, row![3, "green"])?;
        same("now it is", probe.update(player, row![1, "x", 3])?, ONE)
    })
}

/// Restrict: a referenced row cannot be deleted.
pub fn restrict_rejects_the_delete(harness: &dyn Harness) -> Check {
    linked(harness, OnDelete::Restrict, |probe, team, player| {
        fails_at_team("delete", probe.delete(team, row![1]))?;
        fails_at_team("delete where", probe.delete_where(team, None))?;
        same("teams", probe.count(team)?, 2)?;
        probe.delete(player, row![3])?;
        same("nobody's", probe.delete(team, row![2])?, ONE)?;
        fails_at_team("replace", probe.write(team, Verb::InsertOrReplace, row![1, "pink"]))?;
        same("teams", probe.all(team)?, vec![row![1, "red"]])?;
        same("players", probe.count(player)?, 3)
    })
}

/// A delete of several rows names the foreign key that keeps one of them, not one to other rows.
pub fn a_delete_of_rows_names_the_link_that_keeps_them(harness: &dyn Harness) -> Check {
    linked(harness, OnDelete::Restrict, |probe, team, player| {
        use bobak_core::{ColumnSchema, Comparison, Condition, TableSchema};
        let coach: Table = TableSchema::builder("coach")
            .column(ColumnSchema::of::<i64>("id"))
            .column(ColumnSchema::of::<i64>("trains").references("team", "id", OnDelete::Restrict))
            .key(["id"])
            .build()?
            .into();
        probe.session.alter(&[bobak_core::SchemaChange::CreateTable(coach.clone())])?;
        probe.insert(&coach, row![1, 1])?;
        let second =
            Condition::Compare { column: 0, comparison: Comparison::Greater, value: 1.into() };
        fails_at_team("delete where", probe.delete_where(team, Some(second)))?;
        probe.delete_where(player, None)?;
        let error = fails_in(
            "delete where",
            probe.delete_where(team, None),
            ErrorKind::Constraint,
            "coach",
        )?;
        same("column", error.column(), Some("trains"))
    })
}

/// Cascade: referring rows are deleted with it, and not counted.
pub fn cascade_deletes_the_others(harness: &dyn Harness) -> Check {
    linked(harness, OnDelete::Cascade, |probe, team, player| {
        same("outcome", probe.delete(team, row![1])?, ONE)?;
        same("rest", super::ids(&probe.all(player)?), vec![3, 4])?;
        same("replaced", probe.write(team, Verb::InsertOrReplace, row![2, "x"])?, NEW)?;
        same("its players went", super::ids(&probe.all(player)?), vec![4])?;
        probe.insert(player, row![5, "New", 2])?;
        same("delete where", probe.delete_where(team, None)?, 1)?;
        same("rest", super::ids(&probe.all(player)?), vec![4])
    })
}

/// Set null: referring rows get NULL.
pub fn set_null_cuts_the_link(harness: &dyn Harness) -> Check {
    linked(harness, OnDelete::SetNull, |probe, team, player| {
        same("outcome", probe.delete(team, row![1])?, ONE)?;
        let rows = vec![
            row![1, "Ada", NULL],
            row![2, "Bob", NULL],
            row![3, "Eve", 2],
            row![4, "Joe", NULL],
        ];
        same("players", probe.all(player)?, rows)?;
        let null = bobak_core::Condition::IsNull { column: 2 };
        same("found as such", super::ids(&probe.filter(player, null)?), vec![1, 2, 4])
    })
}

/// A rollback of a delete also undoes its foreign key actions.
pub fn a_rollback_brings_the_others_back(harness: &dyn Harness) -> Check {
    for on_delete in [OnDelete::Cascade, OnDelete::SetNull] {
        linked(harness, on_delete, |probe, team, player| {
            let before = (probe.all(team)?, probe.all(player)?);
            probe.control(TransactionControl::Begin)?;
            probe.control(TransactionControl::Savepoint("a"))?;
            probe.delete_where(team, Some(equal(1, "red")))?;
            probe.control(TransactionControl::RollbackTo("a"))?;
            same("to the mark", (probe.all(team)?, probe.all(player)?), before.clone())?;
            probe.delete(team, row![2])?;
            probe.control(TransactionControl::Rollback)?;
            same("completely", (probe.all(team)?, probe.all(player)?), before)
        })?;
    }
    Ok(())
}

/// A batch checks foreign keys row by row: the referenced row must come first.
pub fn batches_keep_links_row_by_row(harness: &dyn Harness) -> Check {
    linked(harness, OnDelete::Restrict, |probe, team, player| {
        let child = Entry::insert(player, row![9, "x", 3]);
        let parent = Entry::insert(team, row![3, "green"]);
        let sent = probe.batch(&[child.clone(), parent.clone()], OnError::Stop);
        let error = fails_in("child first", sent.whole, ErrorKind::Constraint, "player")?;
        same("row", error.row(), Some(0))?;
        same("teams", probe.count(team)?, 2)?;
        let sent = probe.batch(&[child.clone(), parent, child], OnError::Continue);
        sent.whole?;
        let kinds: Vec<_> = sent.rows.iter().map(|r| r.as_ref().err().map(|e| e.kind())).collect();
        same("go on", kinds, vec![Some(ErrorKind::Constraint), None, None])
    })
}

/// The same within one table, for which a fast path may write many rows at once.
pub fn batches_keep_links_inside_a_table(harness: &dyn Harness) -> Check {
    let node = tables::node()?;
    let store = harness.fresh()?;
    match create(store.engine(), &[&node]) {
        Err(error) if error.kind() == ErrorKind::Unsupported => return Ok(()),
        other => other?,
    }
    let probe = Probe::new(store.engine())?;
    probe.insert(&node, row![1, NULL])?;
    same("to itself", probe.insert(&node, row![2, 2])?, NEW)?;
    let entries: Vec<_> = (10..200)
        .map(|id| {
            let parent = if id == 100 { 150 } else { id - 1 };
            let parent = if id == 10 { 1 } else { parent };
            Entry::insert(&node, row![id, parent])
        })
        .collect();
    let sent = probe.batch(&entries, OnError::Stop);
    let error = fails_in("a later row as parent", sent.whole, ErrorKind::Constraint, "node")?;
    same("row", error.row(), Some(90))?;
    same("nothing stays", probe.count(&node)?, 2)?;
    let sent = probe.batch(&entries, OnError::Continue);
    sent.whole?;
    let failed: Vec<_> =
        (0..).zip(&sent.rows).filter(|(_, r)| r.is_err()).map(|(n, _)| n).collect();
    same("it, and those under it", failed, (90..190).collect::<Vec<i32>>())?;
    same("rows", probe.count(&node)?, 92)
}

/// A table may refer to another table's unique column; a referenced value cannot change.
pub fn a_link_to_a_unique_column(harness: &dyn Harness) -> Check {
    let team = tables::team()?;
    let fan = std::sync::Arc::new(
        bobak_core::TableSchema::builder("fan")
            .column(bobak_core::ColumnSchema::of::<i64>("id"))
            .column(bobak_core::ColumnSchema::of::<Option<String>>("team").references(
                "team",
                "code",
                OnDelete::Cascade,
            ))
            .key(["id"])
            .build()?,
    );
    let store = harness.fresh()?;
    match create(store.engine(), &[&team, &fan]) {
        Err(error) if error.kind() == ErrorKind::Unsupported => return Ok(()),
        other => other?,
    }
    let probe = Probe::new(store.engine())?;
    probe.insert_all(&team, [row![1, "red"], row![2, "blue"]])?;
    probe.insert_all(&fan, [row![1, "red"], row![2, "blue"], row![3, NULL]])?;
    let wrong = probe.insert(&fan, row![4, "Red"]);
    fails_in("no such code", wrong, ErrorKind::Constraint, "fan")?;
    let wrong = probe.update(&team, row![1, "pink"]);
    let error = fails_in("the code changes", wrong, ErrorKind::Constraint, "fan")?;
    same("column", error.column(), Some("team"))?;
    same("to the same", probe.update(&team, row![1, "red"])?, ONE)?;
    probe.delete(&team, row![2])?;
    same("fans", super::ids(&probe.all(&fan)?), vec![1, 3])
}

/// A foreign key of several columns needs a row with all of their values, unless one of them is NULL.
pub fn links_of_several_columns(harness: &dyn Harness) -> Check {
    for on_delete in [OnDelete::Restrict, OnDelete::Cascade, OnDelete::SetNull, OnDelete::NoAction]
    {
        let store = harness.fresh()?;
        let (order, line) = order_and_line(on_delete)?;
        match create(store.engine(), &[&order, &line]) {
            Err(error) if error.kind() == ErrorKind::Unsupported => return Ok(()),
            other => other?,
        }
        let found = store.engine().tables()?;
        let is_same = |table: &Table| found.iter().any(|other| other.same_as(table));
        holds("the descriptions are the same", is_same(&order) && is_same(&line))?;
        let probe = Probe::new(store.engine())?;
        probe.insert_all(&order, [row!["a", 1, 10], row!["a", 2, 20], row!["b", 1, 30]])?;
        let rows = [row![1, 1, "a"], row![2, 2, "a"], row![3, 1, "b"], row![4, 9, NULL]];
        probe.insert_all(&line, rows)?;
        for verb in [Verb::Insert, Verb::InsertOrIgnore, Verb::InsertOrReplace, Verb::Upsert] {
            let wrong = probe.write(&line, verb, row![9, 2, "b"]);
            fails_in(&format!("{verb:?}"), wrong, ErrorKind::Constraint, "line")?;
        }
        let wrong = probe.update(&line, row![4, 9, "a"]);
        fails_in("no longer NULL", wrong, ErrorKind::Constraint, "line")?;
        let batch = [row![10, 2, "b"]].map(|row| Entry::insert(&line, row));
        let sent = probe.batch(&batch, OnError::Stop);
        fails_in("in a batch", sent.whole, ErrorKind::Constraint, "line")?;
        same("total changes", probe.update(&order, row!["a", 1, 11])?, ONE)?;
        let deleted = probe.delete(&order, row!["a", 1]);
        let left = probe.all(&line)?;
        match on_delete {
            OnDelete::Restrict | OnDelete::NoAction => {
                fails_in("delete", deleted, ErrorKind::Constraint, "line")?;
                same("all are there", super::ids(&left), vec![1, 2, 3, 4])?;
                probe.delete(&line, row![2])?;
                same("nobody's", probe.delete(&order, row!["a", 2])?, ONE)?;
            }
            OnDelete::Cascade => same("it went", super::ids(&left), vec![2, 3, 4])?,
            OnDelete::SetNull => same("refers to none", left[0].clone(), row![1, NULL, NULL])?,
        }
    }
    Ok(())
}

/// An order with a key of two columns, and a line that names them in another order.
fn order_and_line(on_delete: OnDelete) -> Check<(Table, Table)> {
    use bobak_core::{ColumnSchema, ForeignKey, TableSchema};
    let order = TableSchema::builder("order")
        .column(ColumnSchema::of::<String>("shop").max_chars(20))
        .column(ColumnSchema::of::<i32>("number"))
        .column(ColumnSchema::of::<i64>("total"))
        .key(["shop", "number"])
        .build()?;
    let line = TableSchema::builder("line")
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<Option<i32>>("order_number"))
        .column(ColumnSchema::of::<Option<String>>("order_shop").max_chars(20))
        .key(["id"])
        .foreign_key(
            ["order_number", "order_shop"],
            ForeignKey::new("order", ["number", "shop"], on_delete),
        )
        .build()?;
    Ok((order.into(), line.into()))
}
