//! The conformance suite; each case in a database of its own.

mod prepared {
    use crate::stores::fresh;
    bobak_testkit::conformance!(fresh);
}

/// The groups whose cases depend on how values are sent and read, with values written into the
/// text.
#[test]
fn statements_need_not_be_prepared() {
    if crate::stores::server().is_none() {
        return;
    }
    let groups = ["values::", "writes::", "batches::", "sql::"];
    let chosen = |case: &&bobak_testkit::Case| groups.iter().any(|g| case.name.starts_with(g));
    for case in bobak_testkit::CASES.iter().filter(chosen) {
        if let Err(failure) = (case.run)(&crate::stores::unprepared) {
            panic!("{}: {failure}", case.name);
        }
    }
}

#[test]
fn numbers_in_sql_are_amounts() {
    if crate::stores::server().is_some() {
        let check = bobak_testkit::cases::sql_types::money_and_dates_in_server_sql;
        check(&crate::stores::fresh).unwrap();
    }
}
