//! Generated fields: records, dynamic rows, hooks' checks, migrations and copies.

use bobak::prelude::*;
use bobak::rules::Violations;
use bobak::schema::{ColumnSchema, TableSchema};
use bobak::{DynRow, migration::Drops};
use std::sync::Arc;

#[derive(Record, Debug, Clone, PartialEq)]
struct Line {
    id: i64,
    price: Currency,
    quantity: i64,
    #[record(generated = "price * quantity", index)]
    total: Currency,
    name: String,
    #[record(generated = "lower(name)")]
    folded: String,
}

fn line(id: i64, name: &str) -> Line {
    let price = "1.50".parse().unwrap();
    Line { id, price, quantity: 4, total: Currency::ZERO, name: name.into(), folded: String::new() }
}

fn on_each(test: impl Fn(Db)) {
    for url in ["memory:", "sqlite::memory:"] {
        let db = Db::builder().record::<Line>().open(url).unwrap();
        db.create_missing_tables().unwrap();
        test(db);
    }
}

#[test]
fn records_ignore_what_they_have_in_a_generated_field() {
    on_each(|db| {
        let lines = db.table::<Line>().unwrap();
        let mut spade = line(0, "Spade");
        lines.insert(&mut spade).unwrap();
        assert_eq!((spade.id, spade.total), (1, Currency::ZERO));
        let stored = lines.require(1).unwrap();
        let six: Currency = "6".parse().unwrap();
        assert_eq!((stored.total, stored.folded.as_str()), (six, "spade"));
        lines.update(&Line { quantity: 5, ..stored }).unwrap();
        lines.upsert(&line(2, "RAKE")).unwrap();
        lines.set(1, [Line::PRICE.set(Currency::ZERO)]).unwrap();
        let totals: Vec<_> = lines.list(Query::all()).unwrap().iter().map(|l| l.total).collect();
        assert_eq!(totals, [Currency::ZERO, six]);
        let found = lines.list(Line::TOTAL.eq(six).and(Line::FOLDED.eq("rake"))).unwrap();
        assert_eq!(found.len(), 1);
        for error in [
            lines.set(1, [Line::TOTAL.set(six)]).unwrap_err(),
            lines.set_where(Line::ID.eq(1), [Line::FOLDED.set("x")]).unwrap_err(),
            lines.update_fields(&line(1, "x"), [Line::TOTAL.into()]).unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::Misuse, "{error}");
        }
    });
}

#[test]
fn dynamic_rows_need_no_generated_column() {
    on_each(|db| {
        let lines = db.dynamic("line").unwrap();
        let mut row = DynRow::new();
        row.set("price", "2".parse::<Currency>().unwrap()).unwrap();
        row.set("quantity", 2).unwrap();
        row.set("name", "Hoe").unwrap();
        lines.insert(&row).unwrap();
        let stored = lines.get([1]).unwrap().unwrap();
        assert_eq!(stored.get::<Currency>("total").unwrap(), "4".parse().unwrap());
        let mut changed = stored.clone();
        changed.set("quantity", 3).unwrap();
        lines.update(&changed).unwrap();
        let stored = lines.get([1]).unwrap().unwrap();
        assert_eq!(stored.get::<Currency>("total").unwrap(), "6".parse().unwrap());
    });
}

#[test]
fn migrations_drop_and_add_changed_expressions() {
    on_each(|db| {
        db.table::<Line>().unwrap().insert(&line(0, "Spade")).unwrap();
        let model = |expression: &'static str, base: &'static str| {
            let table = TableSchema::builder("line")
                .column(ColumnSchema::of::<i64>("id"))
                .column(ColumnSchema::of::<Currency>("price"))
                .column(ColumnSchema::of::<i64>(base))
                .column(ColumnSchema::of::<Currency>("total").generated(expression))
                .key(["id"])
                .index("line_total", ["total"]);
            Arc::new(table.build().unwrap())
        };
        let stored = db.tables().unwrap();
        let same = bobak::migration::plan(&[Arc::clone(Line::schema())], &stored, Drops::Nothing);
        assert_eq!(same.unwrap().steps.len(), 0);
        let doubled = model("price * quantity * 2", "quantity");
        let plan = bobak::migration::plan(&[doubled], &stored, Drops::Columns).unwrap();
        let steps: Vec<_> = plan.steps.iter().map(|step| step.in_words()).collect();
        let begins = |at: usize, with: &str| assert!(steps[at].starts_with(with), "{steps:#?}");
        begins(0, "Drop the index line_total");
        begins(1, "Drop the column total");
        begins(2, "Drop the column folded");
        begins(3, "Drop the column name");
        begins(4, "Add the column total");
        begins(5, "Create the index line_total");
        let sql = db.migration_sql(&plan).map(|sql| sql.join("\n"));
        if let Ok(sql) = sql {
            assert!(sql.contains("GENERATED ALWAYS AS"), "{sql}");
        }
        let undo = plan.undo.expect("nothing is lost that cannot be computed");
        assert!(!undo.is_empty());
    });
}

/// Whole rows are valid if the first number is not the larger one.
fn in_order(pair: &OrderedPair, violations: &mut Violations) {
    if pair.low > pair.high {
        violations.add(OrderedPair::LOW, "must be at most high");
    }
}

#[derive(Record, Debug)]
#[record(validate = in_order)]
struct OrderedPair {
    id: i64,
    low: i64,
    high: i64,
    #[record(generated = "low * high")]
    product: i64,
}

#[test]
fn rows_without_their_generated_field_have_rules_and_hooks() {
    crate::engines::on_each(|place| {
        let builder = Db::builder().record::<OrderedPair>();
        let db = place.open(builder.before_insert(|_, new: &mut OrderedPair| match new.low {
            13 => Err(Error::new(ErrorKind::Misuse, "not this one")),
            _ => Ok(()),
        }));
        let pairs = db.dynamic("ordered_pair").unwrap();
        let insert = |low: i64, high: i64| {
            let mut row = DynRow::new();
            row.set("low", low).unwrap();
            row.set("high", high).unwrap();
            pairs.insert(&row).map_err(|error| error.kind())
        };
        assert_eq!(insert(9, 1).unwrap_err(), ErrorKind::Invalid);
        assert_eq!(insert(13, 14).unwrap_err(), ErrorKind::Misuse);
        insert(2, 3).unwrap();
        let stored = db.table::<OrderedPair>().unwrap().list(Query::all()).unwrap();
        assert_eq!((stored.len(), stored[0].product), (1, 6));
    });
}
