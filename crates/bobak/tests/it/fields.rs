//! Every type of field, on every engine.

use crate::engines::on_each;
use bobak::ValueRef;
use bobak::prelude::*;
use bobak::schema::Type;

#[derive(Field, Debug, Clone, Copy, PartialEq)]
#[field(store = "text", rename_all = "kebab-case")]
enum Colour {
    DarkRed,
    Blue,
}

#[derive(Field, Debug, Clone, Copy, PartialEq)]
#[field(store = "integer")]
enum Level {
    Low = -1,
    High = 10,
}

#[derive(Debug, Clone, PartialEq)]
struct Celsius(f64);

impl Field for Celsius {
    const TYPE: Type = Type::F64;

    fn to_value(&self) -> bobak::Result<Value<'_>> {
        self.0.to_value()
    }

    fn from_value(value: ValueRef<'_>) -> bobak::Result<Self> {
        f64::from_value(value).map(Self)
    }
}

#[derive(Record, Debug, Clone, PartialEq)]
struct Everything {
    id: i64,
    yes: bool,
    tiny: i8,
    small: i16,
    medium: i32,
    large: i64,
    utiny: u8,
    usmall: u16,
    umedium: u32,
    ularge: u64,
    single: f32,
    double: f64,
    text: String,
    bytes: Vec<u8>,
    uuid: Uuid,
    money: Currency,
    date: Date,
    time: Time,
    at: DateTime,
    instant: Timestamp,
    tags: Json<Vec<String>>,
    colour: Colour,
    level: Level,
    heat: Celsius,
    #[record(store = "text")]
    iso_date: Date,
    #[record(store = "text")]
    iso_instant: Timestamp,
    #[record(store = "text")]
    text_uuid: Uuid,
    maybe_text: Option<String>,
    maybe_bytes: Option<Vec<u8>>,
    maybe_money: Option<Currency>,
    maybe_date: Option<Date>,
    maybe_colour: Option<Colour>,
    maybe_json: Option<Json<i32>>,
    #[record(skip)]
    skipped: u8,
}

fn lowest() -> Everything {
    Everything {
        id: 1,
        yes: false,
        tiny: i8::MIN,
        small: i16::MIN,
        medium: i32::MIN,
        large: i64::MIN,
        utiny: 0,
        usmall: 0,
        umedium: 0,
        ularge: 0,
        single: f32::MIN,
        double: f64::NEG_INFINITY,
        text: String::new(),
        bytes: Vec::new(),
        uuid: Uuid::nil(),
        money: Currency::MIN,
        date: "-9999-01-01".parse::<Date>().unwrap_or(Date::MIN),
        time: Time::midnight(),
        at: "0001-01-01T00:00:00".parse().unwrap(),
        instant: "0001-01-01T00:00:00Z".parse().unwrap(),
        tags: Json(Vec::new()),
        colour: Colour::DarkRed,
        level: Level::Low,
        heat: Celsius(-273.15),
        iso_date: "0001-01-01".parse().unwrap(),
        iso_instant: "1969-12-31T23:59:59.999999Z".parse().unwrap(),
        text_uuid: Uuid::nil(),
        maybe_text: None,
        maybe_bytes: None,
        maybe_money: None,
        maybe_date: None,
        maybe_colour: None,
        maybe_json: None,
        skipped: 0,
    }
}

fn highest() -> Everything {
    Everything {
        id: i64::MAX - 1,
        yes: true,
        tiny: i8::MAX,
        small: i16::MAX,
        medium: i32::MAX,
        large: i64::MAX,
        utiny: u8::MAX,
        usmall: u16::MAX,
        umedium: u32::MAX,
        ularge: i64::MAX as u64,
        single: f32::MAX,
        double: f64::MIN_POSITIVE,
        text: "Namé\0 'quoted' \u{10FFFF}".into(),
        bytes: (0..=255).collect(),
        uuid: Uuid::max(),
        money: Currency::MAX,
        date: Date::MAX,
        time: "23:59:59.999999".parse().unwrap(),
        at: "9999-12-30T00:00:00.000001".parse().unwrap(),
        instant: "9999-12-30T00:00:00.000001Z".parse().unwrap(),
        tags: Json(vec!["a".into(), "\"b\"".into()]),
        colour: Colour::Blue,
        level: Level::High,
        heat: Celsius(1e300),
        iso_date: "2024-02-29".parse().unwrap(),
        iso_instant: "2024-02-29T12:00:00.5Z".parse().unwrap(),
        text_uuid: Uuid::max(),
        maybe_text: Some("0123".into()),
        maybe_bytes: Some(vec![0]),
        maybe_money: Some(Currency::ZERO),
        maybe_date: Some("1970-01-01".parse().unwrap()),
        maybe_colour: Some(Colour::DarkRed),
        maybe_json: Some(Json(7)),
        skipped: 0,
    }
}

#[test]
fn extreme_values_survive_single_writes_and_batches() {
    on_each(|place| {
        let db = place.open(Db::builder().record::<Everything>());
        let table = db.table::<Everything>().unwrap();
        for record in [lowest(), highest()] {
            let id = table.insert(&Everything { skipped: 9, ..record.clone() }).unwrap();
            assert_eq!(table.require(id).unwrap(), record);
        }
        table.delete_all().unwrap();
        let mut batch = db.batch(BatchOptions::new());
        for id in 0..40 {
            let record = if id % 2 == 0 { lowest() } else { highest() };
            batch.insert(&Everything { id: id + 1, ..record }).unwrap();
        }
        batch.finish().unwrap();
        for (id, record) in (1..).zip(table.list(Query::all()).unwrap()) {
            let expected = if id % 2 == 1 { lowest() } else { highest() };
            assert_eq!(record, Everything { id, ..expected });
        }
    });
}

#[test]
fn typed_columns_find_the_stored_values() {
    on_each(|place| {
        let db = place.open(Db::builder().record::<Everything>());
        let table = db.table::<Everything>().unwrap();
        for record in [lowest(), highest()] {
            table.insert(&record).unwrap();
        }
        let high = highest();
        let found = |filter| table.list(filter).unwrap().iter().map(|r| r.id).collect::<Vec<_>>();
        let expected = [high.id];
        assert_eq!(found(Everything::YES.eq(true)), expected);
        assert_eq!(found(Everything::UUID.eq(high.uuid)), expected);
        assert_eq!(found(Everything::TEXT_UUID.eq(high.text_uuid)), expected);
        assert_eq!(found(Everything::ISO_DATE.gt("2000-01-01".parse::<Date>().unwrap())), expected);
        assert_eq!(found(Everything::ISO_INSTANT.ge(high.iso_instant)), expected);
        assert_eq!(found(Everything::COLOUR.eq(Colour::Blue)), expected);
        assert_eq!(found(Everything::LEVEL.eq(Level::High)), expected);
        assert_eq!(found(Everything::BYTES.eq(high.bytes.as_slice())), expected);
        assert_eq!(found(Everything::MAYBE_MONEY.eq(Currency::ZERO)), expected);
        assert_eq!(found(Everything::MAYBE_DATE.is_null()), [1]);
        assert_eq!(found(Everything::MAYBE_TEXT.eq(None::<String>)), [1]);
        assert_eq!(found(Everything::HEAT.lt(Celsius(0.0))), [1]);
        assert_eq!(found(Everything::TEXT.eq(high.text.as_str())), expected);
    });
}

#[test]
fn keys_of_every_type_are_stored_and_found() {
    #[derive(Record, Debug, PartialEq, Clone)]
    struct Word {
        #[record(key, collation = "unicode_nocase")]
        word: String,
        n: i32,
    }
    #[derive(Record, Debug, PartialEq, Clone)]
    struct Bay {
        #[record(key)]
        row: i32,
        #[record(key)]
        letter: String,
        occupied: bool,
    }
    #[derive(Record, Debug, PartialEq, Clone)]
    struct Given {
        #[record(key = "given")]
        id: i64,
        n: i32,
    }
    on_each(|place| {
        let db = place.open(Db::builder().record::<Word>().record::<Bay>().record::<Given>());
        let words = db.table::<Word>().unwrap();
        assert_eq!(words.insert(&Word { word: "Été".into(), n: 1 }).unwrap(), "Été");
        let error = words.insert(&Word { word: "ÉTÉ".into(), n: 2 }).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Duplicate);
        assert_eq!(words.require("été").unwrap().n, 1);
        let bays = db.table::<Bay>().unwrap();
        for (row, letter) in [(2, "A"), (1, "B"), (1, "A")] {
            let bay = Bay { row, letter: letter.into(), occupied: false };
            assert_eq!(bays.insert(&bay).unwrap(), (row, letter.to_owned()));
        }
        bays.set((1, "B".to_owned()), [Bay::OCCUPIED.set(true)]).unwrap();
        let order: Vec<_> =
            bays.list(Query::all()).unwrap().iter().map(|s| (s.row, s.letter.clone())).collect();
        assert_eq!(order, [(1, "A".into()), (1, "B".into()), (2, "A".into())]);
        let after = bays.list(Query::all().after((1, "A".to_owned()))).unwrap();
        assert_eq!((after.len(), after[0].occupied), (2, true));
        let given = db.table::<Given>().unwrap();
        assert_eq!(given.insert(&Given { id: 0, n: 5 }).unwrap(), 0);
        assert_eq!(given.insert(&Given { id: 0, n: 6 }).unwrap_err().kind(), ErrorKind::Duplicate);
        assert_eq!(given.require(0).unwrap().n, 5);
    });
}

#[derive(Record, Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
struct Sale {
    id: Uuid,
    price: Currency,
    day: Date,
    at: Timestamp,
    tags: Json<Vec<String>>,
}

#[test]
fn records_can_be_serialized_by_serde() {
    let sale = Sale {
        id: Uuid::from_u128(7),
        price: "19.90".parse().unwrap(),
        day: "2026-11-23".parse().unwrap(),
        at: "2026-11-23T10:00:00.000001Z".parse().unwrap(),
        tags: Json(vec!["new".to_owned()]),
    };
    let text = serde_json::to_string(&sale).unwrap();
    assert_eq!(
        text,
        r#"{"id":"00000000-0000-0000-0000-000000000007","price":"19.90","day":"2026-11-23","at":"2026-11-23T10:00:00.000001Z","tags":["new"]}"#
    );
    assert_eq!(serde_json::from_str::<Sale>(&text).unwrap(), sale);
}
