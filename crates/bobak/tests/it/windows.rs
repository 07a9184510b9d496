//! Window functions: as parts of statements against rows calculated in this process.

use crate::engines::on_each;
use crate::join_paths::{Area, Paths, Person, Random, Task, vary};
use bobak::prelude::*;
use bobak::query::{AnyOf, PageRequest, dense_rank, exists, from, rank, row_number, window};

fn random_windows(paths: &Paths, random: &mut Random) {
    let (hours, money) = (random.below(5) as i32 - 2, random.money());
    let amount = Task::RATE * Task::HOURS;
    let of_person = || window().partition_by(Task::PERSON_ID);
    let by_hours = || of_person().order_by(Task::HOURS.desc());
    let by_label = || window().order_by(Task::LABEL.asc().nulls_last()).order_by(Task::RATE.asc());
    let number = row_number().over(by_hours());
    let query = vary!(
        random,
        Query::<Task>::all().left_join(Task::PERSON).left_join(Person::AREA),
        [
            number.le(2),
            Task::HOURS.gt(hours),
            AnyOf((rank().over(by_label()).gt(3), Person::ACTIVE.eq(true))),
            Task::RATE.sum().over(of_person()).gt(money),
            Task::HOURS.lag(1).over(by_hours()).is_not_null(),
        ],
        [
            dense_rank().over(by_label()).desc(),
            Person::NAME.asc(),
            Task::RATE.max().over(of_person()).asc()
        ]
    );
    let numbers = (number, rank().over(by_hours()), dense_rank().over(by_label()));
    let others = (
        Task::RATE.lag(1).over(by_hours()),
        Task::LABEL.lead(2).over(by_hours()),
        Task::LABEL.first_value().over(by_label()),
        Task::DONE.last_value().over(by_hours()),
    );
    let totals = (
        amount.sum().over(by_hours()),
        amount.avg().over(by_hours().last_rows(3)),
        Task::LABEL.max().over(of_person()),
        Task::RATE.min().over(window()),
        count::<Task>().over(window().partition_by(Person::NAME)),
        (Task::HOURS * 1)
            .sum()
            .over(of_person().partition_by(Task::COUNT % 2).order_by(Task::RATE.asc())),
    );
    match random.below(4) {
        0 => paths.compare(&query.select((Task::ID, numbers))),
        1 => paths.compare(&query.select((Task::ID, others))),
        2 => paths.compare(&query.select((Task::ID, totals))),
        _ => paths.compare(&query.select((amount - amount.max().over(of_person()), number * 2))),
    }
}

fn random_groups(paths: &Paths, random: &mut Random) {
    let total = Task::RATE.sum();
    let place = rank().over(window().order_by(total.desc()));
    let query = vary!(
        random,
        Query::<Area>::all().left_join(Area::PEOPLE).left_join(Person::TASKS).group_by(Area::CODE),
        [
            place.le(3),
            count::<Task>().gt(2),
            exists(from::<Person>().and(Person::PAY.gt(random.money()))),
        ],
        [total.asc(), place.desc()]
    );
    let running = count::<Task>().sum().over(window().order_by(Area::CODE.asc()));
    let query = query.select((Area::CODE, total, place, running, total.sum().over(window())));
    paths.compare(&query);
    if random.below(4) == 0 {
        paths.check_pages(&query, random);
    }
}

/// Pages of groups and of window functions.
fn random_pages(paths: &Paths, random: &mut Random) {
    let groups = from::<Task>().left_join(Task::PERSON);
    let groups = match random.below(4) {
        0 => groups.group_by(Person::NAME).order_by(count::<Task>().desc()),
        1 => groups.group_by(Task::COUNT).order_by(Task::RATE.max().desc().nulls_last()),
        2 => groups.group_by(Task::HOURS % 3).order_by(Task::LABEL.min().asc()).offset(1),
        _ => groups.group_by(Person::AREA_ID).and(count::<Task>().gt(1)).limit(random.below(5)),
    };
    paths.check_pages(&groups.select((count::<Task>(), Task::RATE.max())), random);
    let totals =
        Task::RATE.sum().over(window().partition_by(Task::PERSON_ID).order_by(Task::HOURS.asc()));
    let rows =
        from::<Task>().and(Task::COUNT.le(3)).order_by(totals.desc()).select((Task::ID, totals));
    paths.check_pages(&rows, random);
}

pub(crate) fn check(url: &str) {
    let paths = Paths::open(url);
    paths.joined();
    let mut random = Random(17);
    for _ in 0..120 {
        random_windows(&paths, &mut random);
        random_groups(&paths, &mut random);
    }
    // MariaDB runs no statement with more than two windows of one partition.
    let joined = paths.joined();
    let least = if url.starts_with("mysql") || url.starts_with("mariadb") { 100 } else { 200 };
    assert!(joined > least, "{joined} of 240 as one statement on {url}");
    for _ in 0..20 {
        random_pages(&paths, &mut random);
    }
    paths.joined();
    // Sums of floats depend on their order, and no engine counts different values.
    let people = from::<Person>();
    let by_name = || window().order_by(Person::NAME.asc());
    paths.compare(&people.clone().select(Person::SCORE.sum().over(by_name())));
    paths.compare(&people.select(Person::AREA_ID.count_distinct().over(by_name())));
    assert_eq!(paths.joined(), 0);
}

#[test]
fn windows_as_statements_have_the_same_rows() {
    on_each(|place| {
        if !place.is_memory_engine() {
            check(&place.url);
        }
    });
}

#[test]
#[cfg(all(feature = "mysql", feature = "postgres"))]
fn windows_of_servers_have_the_same_rows() {
    crate::engines::on_servers(check);
}

#[derive(Record)]
#[record(table = "window_score")]
struct Score {
    id: i64,
    player: String,
    points: i64,
}

fn open(url: &str) -> Db {
    let db = Db::builder().record::<Score>().open(url).unwrap();
    db.create_missing_tables().unwrap();
    for (player, points) in
        [("ada", 10), ("ada", 30), ("emmy", 20), ("ada", 30), ("emmy", i64::MAX)]
    {
        db.table().unwrap().insert(&Score { id: 0, player: player.into(), points }).unwrap();
    }
    db
}

fn fixed(url: &str) {
    let db = open(url);
    let of_player = || window().partition_by(Score::PLAYER);
    let best = || of_player().order_by(Score::POINTS.desc());
    let numbers = (row_number().over(best()), rank().over(best()), dense_rank().over(best()));
    let rows = db.list(&from::<Score>().select(numbers)).unwrap();
    assert_eq!(rows, [(3, 3, 2), (1, 1, 1), (2, 2, 2), (2, 1, 1), (1, 1, 1)]);
    let first = from::<Score>().and(row_number().over(best()).eq(1)).select(Score::ID);
    assert_eq!(db.list(&first).unwrap(), [2, 5]);
    let others = (
        Score::POINTS.lag(1).over(of_player().order_by(Score::ID.asc())),
        Score::POINTS.last_value().over(of_player().order_by(Score::ID.asc())),
    );
    let rows = db.list(&from::<Score>().and(Score::PLAYER.eq("ada")).select(others)).unwrap();
    assert_eq!(rows, [(None, Some(30)), (Some(10), Some(30)), (Some(30), Some(30))]);
    let running = Score::POINTS.sum().over(window().order_by(Score::ID.asc()));
    let all = from::<Score>().select(running);
    assert_eq!(db.list(&all).unwrap_err().kind(), ErrorKind::OutOfRange);
    let some = from::<Score>().and(Score::ID.lt(5)).select(running);
    assert_eq!(db.list(&some).unwrap(), [10, 40, 60, 90].map(Some));

    // What windows cannot do.
    let unsupported = |error: bobak::Error| assert_eq!(error.kind(), ErrorKind::Unsupported);
    let twice = running.sum().over(window());
    unsupported(db.list(&from::<Score>().select(twice)).unwrap_err());
    let group = from::<Score>().group_by(rank().over(best())).select(count::<Score>());
    unsupported(db.list(&group).unwrap_err());
    unsupported(db.list(&from::<Score>().select(running.sum())).unwrap_err());
    unsupported(db.list(&from::<Score>().select(running).distinct()).unwrap_err());
    let page = db.page(&some.order_by(running.desc()), PageRequest::size(3).with_total()).unwrap();
    assert_eq!((page.items, page.total), ([90, 60, 40].map(Some).to_vec(), Some(4)));
}

#[test]
fn windows_are_the_same_on_each_engine() {
    on_each(|place| fixed(&place.url));
}

#[test]
#[cfg(all(feature = "mysql", feature = "postgres"))]
fn windows_are_the_same_on_servers() {
    crate::engines::on_servers(fixed);
}

#[test]
#[cfg(feature = "remote")]
fn windows_are_the_same_through_a_server() {
    let engine = bobak_sqlite::Sqlite::builder().open_memory().unwrap();
    crate::engines::on_bobak_server(engine, fixed);
}
