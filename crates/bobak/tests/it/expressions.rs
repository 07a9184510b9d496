//! Expressions: as statements against those in this process, and what they are.

use crate::engines::on_each;
use crate::join_paths::{Area, Paths, Person, Random, Task, vary};
use bobak::prelude::*;
use bobak::query::{AllOf, AnyOf, DatePart, DateUnit, from, not, when};

const PARTS: [DatePart; 13] = [
    DatePart::Year,
    DatePart::IsoYear,
    DatePart::Quarter,
    DatePart::Month,
    DatePart::Week,
    DatePart::Day,
    DatePart::DayOfWeek,
    DatePart::IsoDayOfWeek,
    DatePart::DayOfYear,
    DatePart::Hour,
    DatePart::Minute,
    DatePart::Second,
    DatePart::Epoch,
];

const UNITS: [DateUnit; 8] = [
    DateUnit::Year,
    DateUnit::Quarter,
    DateUnit::Month,
    DateUnit::Week,
    DateUnit::Day,
    DateUnit::Hour,
    DateUnit::Minute,
    DateUnit::Second,
];

/// Filters, orders and columns of rows.
fn random_rows(paths: &Paths, random: &mut Random) {
    let (text, money, hours) = (random.text(), random.money(), random.below(5) as i64 - 2);
    let (start, length) = (random.below(3) as u32 + 1, random.below(4) as u32);
    let (part, unit) = (PARTS[random.below(13) as usize], UNITS[random.below(8) as usize]);
    let label = Task::LABEL.coalesce(Person::NAME).coalesce("none");
    let pay = Person::PAY.coalesce(Task::RATE * Task::HOURS);
    let size = || {
        when(Task::HOURS.gt(2), "long")
            .when(AllOf((Task::RATE.lt(money), pay.gt(money))), Task::LABEL)
            .otherwise(text.as_str())
    };
    let query = vary!(
        random,
        from::<Task>().left_join(Task::PERSON).left_join(Person::AREA),
        [
            label.lower().eq(text.to_ascii_lowercase()),
            label.upper().ne("B"),
            label.trim().length().gt(hours),
            label.concat(Person::NAME).contains(text.as_str()),
            Task::LABEL.substring(start, length).starts_with(text.as_str()),
            label.trim().ends_with("b"),
            label.like("%A_"),
            label.like_escape("!%A%", '!'),
            (Task::HOURS / Task::COUNT).ge(hours),
            (Task::HOURS % 3).into_expr().eq(hours),
            not(AnyOf((pay.lt(money), label.is_null()))),
            Person::BORN.year().eq(1970),
            Task::HOURS.into_expr().lt(Task::COUNT),
            label.is_in(["a", "b", "none"]),
            label.lower().is_in(long_list(|n| vec!["", "a", "it's", "none"][n % 4])),
            (Task::HOURS + 0).is_in(long_list(|n| (n % 3 != 0).then_some(n as i64 - 2))),
            not((Task::RATE * 2).is_in(long_list(|n| Currency::from_units(n as i64).unwrap()))),
            Person::SCORE.into_expr().is_in(long_list(|n| n as f64 / 2.0)),
            Task::HOURS.to_text().concat(Task::BIG.to_text()).contains("-1"),
            Task::RATE.to_integer().lt(hours),
            size().is_not_null(),
            size().ge("l"),
            Area::FOUNDED.start_of(unit).into_expr().ge(Area::FOUNDED),
        ],
        [
            label.lower().asc(),
            Task::LABEL.desc().nulls_first(),
            Person::SCORE.asc().nulls_last(),
            (Task::HOURS / Task::COUNT).desc().nulls_first(),
            (10 - Task::HOURS % 4).asc(),
            size().desc(),
            Task::DONE.part(part).asc().nulls_last(),
            pay.desc(),
        ]
    );
    // `distinct` rows are sorted by what is selected.
    let distinct = from::<Task>()
        .left_join(Task::PERSON)
        .order_by(Person::PAY.desc())
        .select((size(), Task::HOURS % 3, Person::PAY))
        .distinct();
    match random.below(4) {
        0 => paths.compare(&query.select((
            label,
            size(),
            pay,
            Task::HOURS / hours,
            100 - Task::COUNT,
        ))),
        1 => paths.compare(&query.select((
            Person::BORN.part(part),
            Task::DONE.start_of(unit),
            Area::FOUNDED.part(part),
            Area::FOUNDED.start_of(unit),
            Person::BORN.start_of(unit),
        ))),
        2 => paths.compare(&query.select((
            label.upper(),
            label.substring(start, length),
            label.length(),
            Task::LABEL.concat("-").concat(Task::COUNT.to_text()),
            (
                Task::HOURS.to_float() / 7,
                (Task::RATE * 3).to_integer(),
                Person::ACTIVE.to_integer(),
            ),
            Person::PAY / Task::RATE,
            Task::RATE.to_float(),
        ))),
        _ => paths.compare(&distinct),
    }
}

/// So many values that they are written as a list.
fn long_list<V>(value: impl Fn(usize) -> V) -> Vec<V> {
    (0..11).map(value).collect()
}

/// Groups by expressions.
fn random_groups(paths: &Paths, random: &mut Random) {
    let (text, money, hours) = (random.text(), random.money(), random.below(5) as i64 - 2);
    let unit = UNITS[random.below(5) as usize];
    let size =
        || when(Task::HOURS.gt(1), "long").when(Task::LABEL.is_null(), "none").otherwise("short");
    let initial = Task::LABEL.coalesce("none").trim().substring(1, 1).lower();
    let early = || when(Task::DONE.is_null(), 0).otherwise(Task::HOURS);
    let query = vary!(
        random,
        from::<Task>().left_join(Task::PERSON),
        [
            initial.gt(text.as_str()),
            Task::HOURS.count_distinct().gt(hours),
            AnyOf((early().sum().gt(hours), Task::LABEL.count_distinct().lt(3))),
            (Task::HOURS.sum() / Task::HOURS.count()).le(hours),
            not(Task::RATE.sum().gt(money)),
        ],
        [
            early().sum().desc(),
            Task::LABEL.max().asc().nulls_last(),
            (Task::HOURS.sum() - bobak::count::<Task>()).asc(),
        ]
    );
    let totals = (
        early().sum(),
        Person::NAME.count_distinct(),
        Task::LABEL.count_distinct(),
        (Task::RATE * Task::HOURS).count_distinct(),
        Task::HOURS.to_float().max(),
        initial.min(),
        bobak::count::<Task>() * 2,
    );
    match random.below(5) {
        0 => paths.compare(&query.group_by(initial).select((initial, initial.length(), totals))),
        1 => {
            let by_size = query.group_by(size()).order_by(size().desc());
            paths.compare(&by_size.select((size(), size().upper().concat("!"), totals)));
        }
        2 => {
            let month = Task::DONE.start_of(unit);
            paths.compare(&query.group_by(month).order_by(month.desc()).select((month, totals)));
        }
        3 => {
            let by_hours = query.group_by(Task::HOURS % 3).group_by(Task::COUNT);
            paths.compare(&by_hours.select((Task::HOURS % 3, Task::COUNT * 2, totals)));
        }
        _ => paths.compare(&query.select(totals)),
    }
}

/// Pages in orders with NULLs at each end.
fn random_pages(paths: &Paths, random: &mut Random) {
    let mut query = from::<Task>().left_join(Task::PERSON);
    query = match random.below(4) {
        0 => query.order_by(Task::LABEL.asc().nulls_last()),
        1 => query.order_by(Task::LABEL.desc().nulls_first()).order_by(Person::NAME.asc()),
        2 => query.order_by((Task::HOURS / Task::COUNT).desc().nulls_first()),
        _ => query.order_by(Task::LABEL.coalesce(Person::NAME).lower().asc().nulls_last()),
    };
    let query = query.select((Task::ID, Person::NAME));
    paths.compare(&query);
    paths.check_pages(&query, random);
}

/// What only some engines calculate themselves.
fn limits(paths: &Paths) {
    for divisor in [-3, -1, 0, 1, 3, i64::MAX, i64::MIN] {
        paths.compare(&from::<Task>().select((Task::RATE / divisor, Task::RATE / Task::HOURS)));
        paths.compare(&from::<Task>().and(Task::BIG.into_expr().gt(i64::MIN)).select((
            Task::BIG / divisor,
            Task::BIG % divisor,
            Task::BIG.to_float() / divisor,
        )));
        paths.compare(&from::<Task>().select(Task::BIG % divisor));
        paths.compare(&from::<Task>().select(Task::BIG / divisor));
        if divisor != 0 {
            // PostgreSQL does not calculate what is divided by nothing.
            paths.compare(&from::<Task>().select((Task::BIG * 3) % divisor));
        }
        paths.compare(&from::<Person>().select((Person::SCORE / divisor, 1.5 / Person::SCORE)));
    }
    paths.compare(&from::<Task>().select(Task::LABEL.substring(0, 1)));
    paths.compare(&from::<Task>().and(Task::LABEL.lower().like_escape("a", '%')).select(Task::ID));
    paths.compare(&from::<Area>().select(Area::NAME).distinct());
    paths.compare(&from::<Area>().select(7).distinct());
    paths.compare(&from::<Task>().group_by(Task::HOURS % 2).select(Task::HOURS));
}

pub(crate) fn check(url: &str) {
    let paths = Paths::open(url);
    limits(&paths);
    paths.joined();
    let mut random = Random(17);
    for _ in 0..150 {
        random_rows(&paths, &mut random);
        random_groups(&paths, &mut random);
    }
    assert_eq!(paths.joined(), 300, "{url}");
    for _ in 0..30 {
        random_pages(&paths, &mut random);
    }
}

#[test]
fn expressions_as_statements_have_the_same_values() {
    on_each(|place| {
        if !place.is_memory_engine() {
            check(&place.url);
        }
    });
}

#[test]
#[cfg(all(feature = "mysql", feature = "postgres"))]
fn expressions_as_statements_of_servers_have_the_same_values() {
    crate::engines::on_servers(check);
}

#[derive(Record, Debug, Clone, PartialEq)]
struct Item {
    id: i64,
    name: String,
    note: Option<String>,
    price: Currency,
    quantity: i32,
    sold: Option<Date>,
}

fn items(db: &Db) {
    // PostgreSQL has no texts with a NUL.
    items_with_note(db, "Green\0leaves");
}

fn items_with_note(db: &Db, note: &str) {
    db.create_missing_tables().unwrap();
    let item = |name: &str, note: Option<&str>, price: &str, quantity, sold: Option<&str>| Item {
        id: 0,
        name: name.into(),
        note: note.map(Into::into),
        price: price.parse().unwrap(),
        quantity,
        sold: sold.map(|date| date.parse().unwrap()),
    };
    for item in [
        item(" Tea ", Some(note), "10.00", 3, Some("2024-02-29")),
        item("Ätna", None, "0.05", 0, Some("2023-12-31")),
        item("cup", Some(""), "-1.00", 7, None),
    ] {
        db.table::<Item>().unwrap().insert(&item).unwrap();
    }
}

fn values(db: &Db) {
    items(db);
    let by_id = || from::<Item>().order_by(Item::ID.asc());
    let texts = (Item::NAME.trim().lower(), Item::NAME.upper(), Item::NAME.length());
    let found = db.list(&by_id().select(texts)).unwrap();
    let text = |lower: &str, upper: &str, length| (lower.to_owned(), upper.to_owned(), length);
    assert_eq!(found, [text("tea", " TEA ", 5), text("Ätna", "ÄTNA", 4), text("cup", "CUP", 3)]);
    // The character 0 is one of a text.
    let notes = (Item::NOTE.length(), Item::NOTE.substring(5, 4));
    let found = db.list(&by_id().select(notes)).unwrap();
    let wanted =
        [(Some(12), Some("n\0le".to_owned())), (None, None), (Some(0), Some(String::new()))];
    assert_eq!(found, wanted);
    let quotients =
        (Item::PRICE / Item::QUANTITY, 7 / Item::QUANTITY, -7 % Item::QUANTITY.into_expr());
    let found = db.list(&by_id().select(quotients)).unwrap();
    let money = |text: &str| Some(text.parse::<Currency>().unwrap());
    assert_eq!(
        found,
        [
            (money("3.3333"), Some(2), Some(-1)),
            (None, None, None),
            (money("-0.1429"), Some(1), Some(0))
        ]
    );
    // What is beyond 64 bits is not needed, and not calculated.
    let first = Item::QUANTITY.into_expr().coalesce(Item::QUANTITY * i64::MAX);
    let found = db.list(&by_id().select(first)).unwrap();
    assert_eq!(found, [3, 0, 7]);
    let dates =
        (Item::SOLD.year(), Item::SOLD.start_of(DateUnit::Month), Item::SOLD.part(DatePart::Week));
    let found = db.list(&by_id().select(dates)).unwrap();
    let date = |text: &str| Some(text.parse::<Date>().unwrap());
    assert_eq!(
        found,
        [
            (Some(2024), date("2024-02-01"), Some(9)),
            (Some(2023), date("2023-12-01"), Some(52)),
            (None, None, None)
        ]
    );
    let half = Item::PRICE.to_float() / 4.0;
    let casts = (Item::PRICE.to_integer(), half.to_integer(), (Item::QUANTITY - 5).to_text());
    let found = db.list(&by_id().select(casts)).unwrap();
    let text = |text: &str| text.to_owned();
    let wanted = [(10, Some(2), text("-2")), (0, Some(0), text("-5")), (-1, Some(0), text("2"))];
    assert_eq!(found, wanted);
    let far = by_id().select((Item::PRICE.to_float() * 1e300).to_integer());
    assert_eq!(db.list(&far).unwrap_err().kind(), ErrorKind::OutOfRange);
    let dear = || when(Item::PRICE.gt("5".parse::<Currency>().unwrap()), "dear").otherwise("cheap");
    let counts = from::<Item>().group_by(dear()).select((dear(), bobak::count::<Item>()));
    assert_eq!(db.list(&counts).unwrap(), [("cheap".to_owned(), 2), ("dear".to_owned(), 1)]);
    let last = from::<Item>().order_by(Item::SOLD.desc().nulls_first()).limit(2).select(Item::NAME);
    assert_eq!(db.list(&last).unwrap(), ["cup", " Tea "]);
    let rows: Vec<Item> = db.list(&from::<Item>().and(Item::NAME.lower().eq("cup"))).unwrap();
    assert_eq!(rows[0].id, 3);
}

fn many_values(db: &Db) {
    items_with_note(db, "Green leaves");
    let names: Vec<String> = (0..10_000).map(|n| format!("name {n}\"\\")).collect();
    let names = names.into_iter().chain(["tea".to_owned(), "Ätna".to_owned()]).collect::<Vec<_>>();
    let query = from::<Item>().and(Item::NAME.trim().lower().is_in(names)).select(Item::ID);
    assert_eq!(db.list(&query).unwrap(), [1, 2]);
    let numbers = || (3..10_003).collect::<Vec<i64>>();
    let query = from::<Item>().and((Item::ID + 0).is_in(numbers())).select(Item::ID);
    assert_eq!(db.list(&query).unwrap(), [3]);
    let others = from::<Item>().and(not((Item::ID + 0).is_in(numbers()))).select(Item::ID);
    assert_eq!(db.list(&others).unwrap(), [1, 2]);
    let halves = (0..2_000).map(|n| f64::from(n) + 0.5).collect::<Vec<_>>();
    let query = from::<Item>().and((Item::ID.to_float() / 2.0).is_in(halves)).select(Item::ID);
    assert_eq!(db.list(&query).unwrap(), [1, 3]);
    // In groups too, whose values are in the text.
    let query = from::<Item>()
        .group_by(Item::NAME.trim().lower())
        .and(Item::ID.max().is_in(numbers()))
        .select(Item::NAME.trim().lower());
    assert_eq!(db.list(&query).unwrap(), ["cup"]);
}

#[test]
fn lists_of_many_values_are_one_parameter() {
    on_each(|place| many_values(&Db::builder().record::<Item>().open(&place.url).unwrap()));
}

#[test]
#[cfg(all(feature = "mysql", feature = "postgres"))]
fn lists_of_many_values_on_servers() {
    crate::engines::on_servers(|url| {
        many_values(&Db::builder().record::<Item>().open(url).unwrap());
    });
}

#[test]
fn expressions_have_one_meaning() {
    on_each(|place| values(&Db::builder().record::<Item>().open(&place.url).unwrap()));
}

#[test]
#[cfg(feature = "remote")]
fn expressions_over_a_connection() {
    let engine = bobak::engine::memory::Memory::builder().open().unwrap();
    crate::engines::on_bobak_server(engine, |url| {
        let db = Db::builder().record::<Item>().open(url).unwrap();
        values(&db);
    });
}

/// As one of the result, a sum in a condition is an error beyond 64 bits.
fn long_sums(db: &Db) {
    items_with_note(db, "Green leaves");
    db.table::<Item>()
        .unwrap()
        .set_where(Item::ID.gt(0), [Item::PRICE.set(Currency::MAX)])
        .unwrap();
    let positive = || from::<Item>().and(Item::PRICE.sum().gt(Currency::ZERO));
    let all = db.list(&positive().select(Item::ID.max()));
    assert_eq!(all.unwrap_err().kind(), ErrorKind::OutOfRange);
    let one = positive().and(Item::ID.eq(1)).select((Item::ID.max(), Item::PRICE.sum()));
    assert_eq!(db.list(&one).unwrap(), [(Some(1), Some(Currency::MAX))]);
}

#[test]
fn sums_in_conditions_are_errors_beyond_64_bits() {
    on_each(|place| long_sums(&Db::builder().record::<Item>().open(&place.url).unwrap()));
    #[cfg(all(feature = "mysql", feature = "postgres"))]
    crate::engines::on_servers(|url| {
        long_sums(&Db::builder().record::<Item>().open(url).unwrap());
    });
}

#[test]
fn mistakes_are_named() {
    let db = Db::builder().record::<Item>().open("memory:").unwrap();
    items(&db);
    let kind = |error: bobak::Error| (error.kind(), error.to_string());
    let (found, text) =
        kind(db.list(&from::<Item>().select(Item::NAME.substring(0, 1))).unwrap_err());
    assert_eq!(found, ErrorKind::OutOfRange);
    assert!(text.contains("position 1"), "{text}");
    let grouped = from::<Item>().group_by(Item::NAME.lower()).select((Item::NAME, Item::ID.max()));
    let (found, text) = kind(db.list(&grouped).unwrap_err());
    assert_eq!(found, ErrorKind::Schema);
    assert!(text.contains("name") && text.contains("grouped"), "{text}");
    let sorted = from::<Item>().order_by(Item::PRICE.asc()).select(Item::NAME).distinct();
    assert_eq!(kind(db.list(&sorted).unwrap_err()).0, ErrorKind::Schema);
    let groups = from::<Item>().group_by(Item::NAME).select(Item::NAME).distinct();
    assert_eq!(kind(db.list(&groups).unwrap_err()).0, ErrorKind::Unsupported);
    let large = from::<Item>().select(Item::QUANTITY * i64::MAX);
    assert_eq!(kind(db.list(&large).unwrap_err()).0, ErrorKind::OutOfRange);
}
