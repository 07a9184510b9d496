//! PostgreSQL's texts, where they differ most from SQLite's.

use crate::tables::{person, visit};
use bobak_core::{Comparison, Condition, Expr, FieldSet, Order, Select, Value, Verb};
use bobak_sql::Dialect::Postgres as SQL;

#[test]
fn rows_by_their_keys_and_new_ones() {
    let table = person();
    let fields: FieldSet = [1, 2].into_iter().collect();
    let texts = [
        bobak_sql::get(SQL, &table),
        bobak_sql::insert(SQL, &table, Verb::Insert, FieldSet::EMPTY, 1, true),
        bobak_sql::insert(SQL, &table, Verb::Upsert, fields, 1, false),
        bobak_sql::update(SQL, &table, fields),
        bobak_sql::update_arrays(&table, fields).text,
        bobak_sql::insert_arrays(&table, Verb::InsertOrIgnore, FieldSet::EMPTY).text,
        bobak_sql::insert_arrays_without_keys(&table).text,
        bobak_sql::delete_arrays(&table).text,
        bobak_sql::copy_in(&table, &[0, 1]),
    ];
    let expected = [
        r#"SELECT "id", "email", "age", "pay", "version" FROM "person" WHERE "id" = $1"#,
        r#"INSERT INTO "person" ("email", "age", "pay", "version") VALUES ($1, $2, $3, $4) RETURNING "id""#,
        r#"INSERT INTO "person" ("id", "email", "age", "pay", "version") VALUES ($1, $2, $3, $4, $5) ON CONFLICT ("id") DO UPDATE SET "email" = excluded."email", "age" = excluded."age", "version" = "person"."version" + 1 RETURNING "person".xmax = 0"#,
        r#"UPDATE "person" SET "email" = $1, "age" = $2, "version" = "person"."version" + 1 WHERE "id" = $3 AND "version" = $4"#,
        r#"UPDATE "person" SET "email" = "new".c0, "age" = "new".c1, "version" = "person"."version" + 1 FROM unnest($1, $2, $3, $4) WITH ORDINALITY AS "new"(c0, c1, c2, c3, number) WHERE "person"."id" = "new".c2 AND "person"."version" = "new".c3 RETURNING "new".number"#,
        r#"INSERT INTO "person" ("id", "email", "age", "pay", "version") SELECT * FROM unnest($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING RETURNING "id""#,
        r#"INSERT INTO "person" ("email", "age", "pay", "version") SELECT "new".c0, "new".c1, "new".c2, "new".c3 FROM unnest($1, $2, $3, $4) WITH ORDINALITY AS "new"(c0, c1, c2, c3, number) ORDER BY "new".number RETURNING "id""#,
        r#"DELETE FROM "person" USING unnest($1) WITH ORDINALITY AS "new"(c0, number) WHERE "person"."id" = "new".c0 RETURNING "new".number"#,
        r#"COPY "person" ("id", "email") FROM STDIN (FORMAT binary)"#,
    ];
    assert_eq!(texts, expected);
}

#[test]
fn tables_and_queries() {
    let table = person();
    let condition = Condition::And(vec![
        Condition::Compare { column: 2, comparison: Comparison::Less, value: Value::Int(7) },
        Condition::Like { column: 1, pattern: "A%".to_owned() },
    ]);
    let order = vec![Order { column: 2, descending: true }, Order { column: 0, descending: false }];
    let rows = Select { condition: Some(condition), order, limit: Some(3), ..Select::all(&table) };
    let sums =
        Select { columns: vec![Expr::Sum(2), Expr::Avg(2)], order: vec![], ..Select::all(&table) };
    let texts = [
        bobak_sql::create_table(SQL, &visit()).unwrap().join("; "),
        bobak_sql::select(SQL, &rows).text,
        bobak_sql::select(SQL, &sums).text,
    ];
    let expected = [
        r#"CREATE TABLE "the ""visit""" ("on" text NOT NULL COLLATE "C", "person" bigint NOT NULL REFERENCES "person"("id") ON DELETE CASCADE, "order" timestamptz, "note" text COLLATE "C", PRIMARY KEY ("person", "on")); COMMENT ON COLUMN "the ""visit"""."on" IS 'bobak: date kept-as-text'; COMMENT ON COLUMN "the ""visit"""."note" IS 'bobak: text unicode-nocase'"#,
        r#"SELECT "id", "email", "age", "pay", "version" FROM "person" WHERE "age" < $1::int8 AND lower(("email")::text COLLATE "C") LIKE $2::text ESCAPE '|' ORDER BY "person"."age" DESC NULLS LAST, "person"."id" LIMIT 3"#,
        r#"SELECT sum("age")::int8, avg("age")::float8 FROM "person""#,
    ];
    assert_eq!(texts, expected);
}
