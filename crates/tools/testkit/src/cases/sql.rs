//! SQL text, for engines that support it.

use super::ids;
use crate::{Check, Harness, NULL, Probe, Table, Values, fails, holds, row, same, tables};
use bobak_core::{
    ErrorKind, Parameter, Source, SqlArgument, SqlArguments, TransactionControl, Value,
};

fn with_sql(harness: &dyn Harness, case: impl FnOnce(&Probe<'_>, &Table) -> Check) -> Check {
    let store = harness.fresh()?;
    if !store.engine().capabilities().sql {
        return Ok(());
    }
    let person = tables::person()?;
    let probe = Probe::with_tables(store.engine(), &[&person])?;
    probe.insert_all(
        &person,
        [row![1, "Ada", "a@x", 36], row![2, "Bob", NULL, NULL], row![3, "Eve", NULL, 20]],
    )?;
    case(&probe, &person)
}

fn ask(probe: &Probe<'_>, text: &str, parameters: &[Value<'_>]) -> bobak_core::Result<Vec<Values>> {
    let parameters: Vec<Parameter<'_>> = parameters.iter().map(Parameter::from).collect();
    probe.query(&Source::Sql { text, parameters: &parameters })
}

/// Parameters of every class are read back unchanged.
pub fn parameters_keep_their_class(harness: &dyn Harness) -> Check {
    with_sql(harness, |probe, _| {
        let text = if probe.capabilities.nul_in_text { "a\0b ü" } else { "a?b ü" };
        let parameters = row![NULL, Value::Int(i64::MIN), 0.1, text, "", vec![0_u8, 255], vec![]];
        let rows = ask(probe, "select ?, ?, ?, ?, ?, ?, ?", &parameters)?;
        same("rows", rows, vec![parameters])
    })
}

/// Rows by query and by cursor, with the column names of the statement.
pub fn rows_and_names(harness: &dyn Harness) -> Check {
    with_sql(harness, |probe, _| {
        let text =
            "select name as who, count(*) from person where age > ? group by name order by 1";
        let parameters = row![10];
        let rows = vec![row!["Ada", 1], row!["Eve", 1]];
        same("rows", ask(probe, text, &parameters)?, rows.clone())?;
        let mut cursor = probe.session.open(&Source::Sql { text, parameters: &[10.into()] })?;
        same("first name", cursor.columns.first().map(|one| &*one.name), Some("who"))?;
        same("columns", cursor.columns.len(), 2)?;
        same("by cursor", probe.drain(&mut cursor)?, rows)
    })
}

/// A writing statement returns the number of changed rows, and is part of the transaction.
pub fn statements_that_write(harness: &dyn Harness) -> Check {
    with_sql(harness, |probe, person| {
        let add = "update person set age = age + ? where age is not null";
        same("changed", probe.session.execute(add, &[1.into()])?, 2)?;
        probe.control(TransactionControl::Begin)?;
        same("deleted", probe.session.execute("delete from person", &[])?, 3)?;
        same("inside", probe.count(person)?, 0)?;
        probe.control(TransactionControl::Rollback)?;
        let rows = probe.filter(person, super::equal(3, 37))?;
        same("rows", ids(&rows), vec![1])?;
        same("none", probe.session.execute("delete from person where id = ?", &[9.into()])?, 0)
    })
}

/// Invalid SQL is `Syntax`, a missing table `Schema`, and a violated rule has the same kind as elsewhere.
pub fn wrong_statements(harness: &dyn Harness) -> Check {
    with_sql(harness, |probe, person| {
        for text in ["selec 1", "select ,", "select 'open", "select * from person where"] {
            fails(text, ask(probe, text, &[]), ErrorKind::Syntax)?;
            fails(text, probe.session.execute(text, &[]), ErrorKind::Syntax)?;
        }
        fails("a table", ask(probe, "select * from no_table", &[]), ErrorKind::Schema)?;
        fails("a column", ask(probe, "select no_column from person", &[]), ErrorKind::Schema)?;
        let twice = probe.session.execute("insert into person (id, name) values (1, 'x')", &[]);
        fails("a duplicate", twice, ErrorKind::Duplicate)?;
        let null = probe.session.execute("insert into person (id, name) values (9, null)", &[]);
        fails("NULL", null, ErrorKind::Constraint)?;
        same("rows", probe.count(person)?, 3)
    })
}

/// One statement per call, with as many parameters as it has placeholders.
pub fn one_statement_with_its_parameters(harness: &dyn Harness) -> Check {
    with_sql(harness, |probe, person| {
        let two = probe.session.execute("delete from person; delete from person", &[]);
        holds("two statements are rejected", two.is_err())?;
        same("nothing was done", probe.count(person)?, 3)?;
        holds("too few", ask(probe, "select ?, ?", &row![1]).is_err())?;
        holds("too many", ask(probe, "select ?", &row![1, 2]).is_err())?;
        same("a closing semicolon is none", ask(probe, "select 1;", &[])?, vec![row![1]])
    })
}

/// `IN` of a list without values is false for every value, and `NOT IN` is true, also of NULL.
pub fn lists_without_values(harness: &dyn Harness) -> Check {
    with_sql(harness, |probe, _| {
        let found = |condition: &str| {
            let none = ("none".into(), SqlArgument::List(Vec::new()));
            let text = format!("SELECT id FROM person WHERE {condition} ORDER BY id");
            let (text, _) = SqlArguments::Named(vec![none]).bind(&text)?;
            Ok::<_, crate::Failure>(ids(&ask(probe, &text, &[])?))
        };
        for column in ["id", "name", "email", "age"] {
            let inside = format!("{column} IN (:none)");
            same(&inside, found(&inside)?, vec![])?;
            let outside = format!("{column} NOT IN (:none)");
            same(&outside, found(&outside)?, vec![1, 2, 3])?;
        }
        same("together", found("NOT age IN (:none) AND id = 2 OR name IN (:none)")?, vec![2])
    })
}
