use crate::tables::Shop;
use bobak_core::ErrorKind;
use bobak_sql_typing::analyze;

#[test]
fn what_has_no_meaning_is_rejected() {
    use ErrorKind::{Mismatch, Unsupported};
    for (sql, kind, message) in [
        ("select id from orders where total > '5'", Mismatch, "cannot be compared"),
        ("select id from orders where total > note", Mismatch, "text cannot be compared"),
        ("select id from orders where placed > 5", Mismatch, "a number cannot be compared"),
        ("select id from orders where placed > quantity", Mismatch, "single quotes"),
        ("select id from orders where due > '2013-1-1'", Mismatch, "write YYYY-MM-DD"),
        ("select id from orders where total > 0.00005", Mismatch, "at most four decimals"),
        ("select id from orders where total = due", Mismatch, "an amount and a date"),
        ("select id from orders where total = paid and paid = total", Mismatch, "truth value"),
        ("select due + 1 from orders", Mismatch, "no arithmetic of a date"),
        ("select placed - placed from orders", Mismatch, "modifiers"),
        ("select sum(placed) from orders", Mismatch, "no sum of a timestamp"),
        ("select total & 1 from orders", Mismatch, "no arithmetic of an amount"),
        ("select ~total from orders", Mismatch, "no arithmetic"),
        ("select total * 'x' from orders", Mismatch, "text cannot"),
        ("select date(total) from orders", Mismatch, "not a date or time"),
        ("select cast(placed as integer) from orders", Mismatch, "unixepoch"),
        (
            "select total from orders union select placed from orders",
            Mismatch,
            "cannot be compared",
        ),
        ("insert into orders (due) values ('today')", Mismatch, "'today' is not a date"),
        ("update orders set placed = 5", Mismatch, "a number cannot"),
        (
            "create table t as select total from orders",
            Unsupported,
            "create the table with its types",
        ),
        ("insert into plain select * from items", Unsupported, "name the columns"),
        (
            "select o.id from items o join orders p using (id, total) where total in plain",
            Unsupported,
            "IN with a table",
        ),
        ("select digits + 1 from measures", Mismatch, "CAST it to DECIMAL"),
        ("select id from measures where digits > 5", Mismatch, "CAST it to DECIMAL"),
        (
            "select id from measures where digits in (select digits from measures)",
            Mismatch,
            "CAST it",
        ),
        ("select max(digits) from measures", Mismatch, "CAST it to DECIMAL"),
        ("select id from measures order by digits", Mismatch, "CAST it to DECIMAL"),
        ("select digits from measures order by 1", Mismatch, "CAST it to DECIMAL"),
        ("select cast(digits as integer) from measures", Mismatch, "CAST it to DECIMAL"),
        (
            "insert into measures (digits) select weight from measures",
            Mismatch,
            "CAST it to DECIMAL",
        ),
        ("select date_part('month', price) from items", Mismatch, "not a date or time"),
        ("select date_part('lunch', placed) from orders", Unsupported, "no part 'lunch'"),
        ("select date_trunc('epoch', placed) from orders", Unsupported, "no unit 'epoch'"),
        ("select date_trunc('hour', opens) from orders", Mismatch, "needs a date"),
        ("select date_trunc(note, placed) from orders", Unsupported, "text in quotes"),
        ("select cast('soon' as date)", Mismatch, "'soon' is not a date"),
        ("selec total from orders", Unsupported, "cannot analyze"),
    ] {
        let error = analyze(sql, &Shop, &[]).err().unwrap_or_else(|| panic!("{sql} is accepted"));
        assert_eq!(error.kind(), kind, "{sql}: {error}");
        assert!(error.to_string().contains(message), "{sql}: {error}");
    }
}

#[test]
fn deep_nesting_is_rejected() {
    let deep = format!("select {}1{} from orders", "(".repeat(10_000), ")".repeat(10_000));
    assert!(analyze(&deep, &Shop, &[]).is_err());
    let deep = format!("select {}1{} from orders", "(".repeat(32), ")".repeat(32));
    assert!(analyze(&deep, &Shop, &[]).is_ok());
    let deep =
        format!("select 1 from {}orders{}", "(select total from ".repeat(32), ")".repeat(32));
    assert!(analyze(&deep, &Shop, &[]).is_ok());
    let long = format!("select id from orders where total = 1{}", " or total = 1".repeat(5_000));
    assert!(analyze(&long, &Shop, &[]).is_err());
}
