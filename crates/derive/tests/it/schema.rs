//! The table that a derived record describes, against the same table built by hand.

use crate::shim;
use bobak_core::{
    Collation, ColumnRole, ColumnSchema, Currency, Date, ForeignKey, KeyGeneration, OnDelete,
    OnUpdate, Record, TableSchema, Timestamp, Type, Uuid,
};
use bobak_derive::{Field, Record};

#[derive(Record)]
#[record(crate = "crate::shim")]
struct FlightPlan {
    id: i64,
    carrier: Option<String>,
}

#[test]
fn names_come_from_the_struct_and_its_fields() {
    let expected = TableSchema::builder("flight_plan")
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<Option<String>>("carrier"))
        .key(["id"])
        .build()
        .unwrap();
    assert!(FlightPlan::schema().same_as(&expected));
    assert_eq!((FlightPlan::TABLE, FlightPlan::KEY_COLUMN), ("flight_plan", "id"));
    assert_eq!(FlightPlan::schema().key_generation(), KeyGeneration::Engine);
    assert_eq!(FlightPlan::schema().id(), FlightPlan::schema().id());
}

#[derive(Field)]
#[field(crate = "shim", store = "integer")]
enum Level {
    Low,
    High,
}

/// Texts under another name.
type Name = String;

#[derive(Record)]
#[allow(clippy::duplicated_attributes, reason = "two indexes may both be unique")]
#[record(
    crate = "shim",
    table = "staff",
    index(last, first),
    index(r#type, unique),
    index(boss, unique, name = "by_boss")
)]
struct Person {
    #[record(key = "given")]
    number: i64,
    #[record(max = 40, column = "first_name")]
    first: Name,
    #[record(max = 40, collation = "unicode_nocase", index)]
    last: String,
    #[record(unique, collation = "nocase")]
    email: Option<String>,
    r#type: u8,
    #[record(default = -1, check = "level < 5")]
    level: i16,
    #[record(default = 0)]
    salary: Currency,
    #[record(default = 0.5)]
    share: f64,
    #[record(default = 2)]
    weight: f32,
    #[record(default = true)]
    active: bool,
    #[record(default = "new")]
    state: Option<String>,
    #[record(default = 1)]
    rank: Level,
    #[record(references = Self, on_delete = "set_null")]
    boss: Option<i64>,
    #[record(references = FlightPlan, on_delete = "cascade")]
    plan: i64,
    #[record(references = "site (code)")]
    site: String,
    #[record(store = "text")]
    born: Option<Date>,
    #[record(store = "text")]
    token: Uuid,
    #[record(created_at)]
    created: Timestamp,
    #[record(modified_at, store = "text")]
    modified: Timestamp,
    #[record(version)]
    version: i64,
    #[record(skip)]
    #[allow(dead_code, reason = "not stored")]
    cache: Vec<Vec<u8>>,
}

fn staff() -> bobak_core::Result<TableSchema> {
    TableSchema::builder("staff")
        .column(ColumnSchema::of::<i64>("number"))
        .column(ColumnSchema::of::<String>("first_name").max_chars(40))
        .column(
            ColumnSchema::of::<String>("last").max_chars(40).collation(Collation::UnicodeNoCase),
        )
        .column(ColumnSchema::of::<Option<String>>("email").unique().collation(Collation::NoCase))
        .column(ColumnSchema::of::<u8>("type"))
        .column(ColumnSchema::of::<i16>("level").default(-1).check("level < 5"))
        .column(ColumnSchema::of::<Currency>("salary").default(0))
        .column(ColumnSchema::of::<f64>("share").default(0.5))
        .column(ColumnSchema::of::<f32>("weight").default(2.0))
        .column(ColumnSchema::of::<bool>("active").default(true))
        .column(ColumnSchema::of::<Option<String>>("state").default("new"))
        .column(ColumnSchema::new("rank", Type::I64).default(1))
        .column(ColumnSchema::of::<Option<i64>>("boss").references(
            "staff",
            "number",
            OnDelete::SetNull,
        ))
        .column(ColumnSchema::of::<i64>("plan").references("flight_plan", "id", OnDelete::Cascade))
        .column(ColumnSchema::of::<String>("site").references("site", "code", OnDelete::Restrict))
        .column(ColumnSchema::of::<Option<Date>>("born").as_text())
        .column(ColumnSchema::of::<Uuid>("token").as_text())
        .column(ColumnSchema::of::<Timestamp>("created").role(ColumnRole::CreatedAt))
        .column(ColumnSchema::of::<Timestamp>("modified").role(ColumnRole::ModifiedAt).as_text())
        .column(ColumnSchema::of::<i64>("version").role(ColumnRole::Version))
        .key(["number"])
        .given_key()
        .index("staff_last", ["last"])
        .index("staff_last_first_name", ["last", "first_name"])
        .unique_index("staff_type", ["type"])
        .unique_index("by_boss", ["boss"])
        .build()
}

#[test]
fn every_attribute_reaches_the_schema() {
    let (made, expected) = (Person::schema(), staff().unwrap());
    assert_eq!(made.columns(), expected.columns());
    assert_eq!(made.indexes(), expected.indexes());
    assert!(made.same_as(&expected));
    assert_eq!(Person::KEY_COLUMN, "number");
}

#[test]
fn constants_are_typed_and_in_schema_order() {
    let email: bobak_core::Column<Person, Option<String>> = Person::EMAIL;
    let token: bobak_core::Column<Person, Uuid> = Person::TOKEN;
    assert_eq!((email.index(), Person::TYPE.index(), token.index()), (3, 4, 16));
    assert_eq!(Person::schema().column("first_name").unwrap(), Person::FIRST.index());
    assert_eq!(Person::VERSION.index(), 19);
}

mod composite {
    use super::*;

    #[derive(Record)]
    #[record(crate = "crate::shim")]
    pub struct Booking {
        pub row: String,
        #[record(key)]
        pub flight: i64,
        #[record(key, column = "number")]
        pub place: u16,
    }
}

#[test]
fn several_key_fields_are_a_key_in_their_order() {
    let table = composite::Booking::schema();
    assert_eq!(table.key(), [1, 2]);
    assert_eq!(table.key_generation(), KeyGeneration::Given);
    assert_eq!(composite::Booking::KEY_COLUMN, "flight");
    let place = composite::Booking { row: "A".to_owned(), flight: 7, place: 12 };
    assert_eq!(place.key(), (7, 12));
}

#[derive(Record)]
#[record(crate = "crate::shim")]
struct Token {
    id: Uuid,
}

#[derive(Record)]
#[record(crate = "crate::shim")]
struct Plane {
    #[record(key)]
    tailnum: String,
    // The table has an id, but it is not the key.
    id: i64,
}

#[test]
fn keys_of_other_types() {
    assert_eq!(Token::schema().key_generation(), KeyGeneration::Uuid);
    assert_eq!(Plane::schema().key_generation(), KeyGeneration::Given);
    assert_eq!(Plane::schema().key(), [0]);
    let plane = Plane { tailnum: "N14228".to_owned(), id: 1 };
    assert_eq!((plane.key(), plane.id), ("N14228".to_owned(), 1));
}

#[test]
fn the_derive_and_the_core_agree_on_the_most_columns() {
    // `record_too_wide` is rejected with one more.
    assert_eq!(bobak_core::FieldSet::MAX, 256);
}

#[derive(Record)]
#[allow(clippy::duplicated_attributes, reason = "a field may be in two foreign keys")]
#[record(
    crate = "shim",
    never_reuse_keys,
    foreign_key(
        shop,
        r#type,
        references = "order(shop, kind)",
        on_delete = "set_null",
        on_update = "cascade",
        deferred
    ),
    foreign_key(shop, references = "shops(name)")
)]
struct Line {
    id: i64,
    shop: Option<String>,
    r#type: Option<i32>,
}

#[test]
fn foreign_keys_of_several_columns() {
    let order = ForeignKey::new("order", ["shop", "kind"], OnDelete::SetNull);
    let expected = TableSchema::builder("line")
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<Option<String>>("shop"))
        .column(ColumnSchema::of::<Option<i32>>("type"))
        .key(["id"])
        .never_reuse_keys()
        .foreign_key(["shop", "type"], order.on_update(OnUpdate::Cascade).deferred())
        .foreign_key(["shop"], ForeignKey::new("shops", ["name"], OnDelete::Restrict))
        .build()
        .unwrap();
    assert!(Line::schema().same_as(&expected));
}

#[derive(Record)]
#[record(crate = "crate::shim", search(title, r#type, language = "german"))]
struct Essay {
    id: i64,
    title: String,
    #[record(column = "kind")]
    r#type: Option<String>,
}

#[test]
fn a_search_is_over_columns_in_a_language() {
    use bobak_core::search::SearchLanguage;
    let search = Essay::schema().search().unwrap();
    assert_eq!((&search.columns[..], search.language), (&[1, 2][..], SearchLanguage::German));
    assert!(Essay::search("ein Wort").is_search() && FlightPlan::schema().search().is_none());
}
