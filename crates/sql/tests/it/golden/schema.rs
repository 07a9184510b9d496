//! Statements that make tables, columns and indexes.

use super::Texts;
use crate::tables::{everything, person, visit};
use bobak_sql::{add_column, add_index, create_table, quote};

#[test]
fn names_are_quoted() {
    Texts { sqlite: &["\"a\"", "\"a \"\"b\"\" 'c' é\""] }
        .check(|dialect| vec![quote(dialect, "a"), quote(dialect, "a \"b\" 'c' é")]);
}

#[test]
fn tables_with_their_indexes() {
    Texts {
        sqlite: &[
            concat!(
                "CREATE TABLE \"person\" (\"id\" INTEGER PRIMARY KEY, ",
                "\"email\" VARCHAR(80) NOT NULL COLLATE NOCASE, ",
                "\"age\" TINYINT CHECK ((\"age\" >= 0)), ",
                "\"pay\" CURRENCY_E4 NOT NULL DEFAULT 100000 CHECK ((\"pay\" | 0) IS \"pay\"), ",
                "\"version\" INTEGER_VERSION NOT NULL)",
            ),
            "CREATE UNIQUE INDEX \"person_email_unique\" ON \"person\" (\"email\")",
            "CREATE INDEX \"person_age_pay\" ON \"person\" (\"age\", \"pay\")",
        ],
    }
    .check(|dialect| create_table(dialect, &person()).unwrap());
    Texts {
        sqlite: &[concat!(
            "CREATE TABLE \"the \"\"visit\"\"\" (\"on\" DATE_TEXT NOT NULL, ",
            "\"person\" INTEGER NOT NULL REFERENCES \"person\"(\"id\") ON DELETE CASCADE, ",
            "\"order\" TIMESTAMP_MICROS CHECK ((\"order\" | 0) IS \"order\"), ",
            "\"note\" TEXT COLLATE BOBAK_UNICODE_NOCASE, ",
            "PRIMARY KEY (\"person\", \"on\"))",
        )],
    }
    .check(|dialect| create_table(dialect, &visit()).unwrap());
    Texts {
        sqlite: &[concat!(
            "CREATE TABLE \"everything\" (\"key\" UUID NOT NULL, \"bool\" BOOLEAN, ",
            "\"i8\" TINYINT, \"i16\" SMALLINT, \"i32\" INT4, \"i64\" INTEGER, ",
            "\"u8\" UNSIGNED TINYINT, \"u16\" UNSIGNED SMALLINT, \"u32\" UNSIGNED INT4, ",
            "\"u64\" UNSIGNED BIGINT, \"f32\" FLOAT4 ",
            "CHECK ((\"f32\" + 0.0) IS \"f32\" AND abs(\"f32\") NOT BETWEEN 3.4028235677973366e+38 AND 1.7976931348623157e+308), ",
            "\"f64\" REAL, \"text\" TEXT, \"bytes\" BLOB, ",
            "\"uuid\" UUID, \"currency\" CURRENCY_E4 CHECK ((\"currency\" | 0) IS \"currency\"), ",
            "\"date\" DATE_DAYS CHECK ((\"date\" | 0) IS \"date\"), ",
            "\"time\" TIME_MICROS CHECK ((\"time\" | 0) IS \"time\"), ",
            "\"datetime\" DATETIME_MICROS CHECK ((\"datetime\" | 0) IS \"datetime\"), ",
            "\"timestamp\" TIMESTAMP_MICROS CHECK ((\"timestamp\" | 0) IS \"timestamp\"), ",
            "\"json\" JSON_TEXT CHECK (\"json\" IS NULL OR json_valid(\"json\")), \"any\", ",
            "\"uuid_as_text\" UUID_TEXT, \"date_as_text\" DATE_TEXT, \"time_as_text\" TIME_TEXT, ",
            "\"datetime_as_text\" DATETIME_TEXT, \"timestamp_as_text\" TIMESTAMP_TEXT, ",
            "PRIMARY KEY (\"key\"))",
        )],
    }
    .check(|dialect| create_table(dialect, &everything()).unwrap());
}

#[test]
fn columns_and_indexes_added() {
    Texts {
        sqlite: &[
            "ALTER TABLE \"person\" ADD COLUMN \"email\" VARCHAR(80) NOT NULL COLLATE NOCASE DEFAULT ''",
            "ALTER TABLE \"person\" ADD COLUMN \"age\" TINYINT CHECK ((\"age\" >= 0))",
            "ALTER TABLE \"person\" ADD COLUMN \"pay\" CURRENCY_E4 NOT NULL DEFAULT 100000 CHECK ((\"pay\" | 0) IS \"pay\")",
            "ALTER TABLE \"person\" ADD COLUMN \"version\" INTEGER_VERSION NOT NULL DEFAULT 0",
        ],
    }
    .check(|dialect| (1..6).flat_map(|place| add_column(dialect, &person(), place).unwrap()).collect());
    Texts { sqlite: &["CREATE INDEX \"person_age_pay\" ON \"person\" (\"age\", \"pay\")"] }
        .check(|dialect| vec![add_index(dialect, &person(), 1).unwrap()]);
}
