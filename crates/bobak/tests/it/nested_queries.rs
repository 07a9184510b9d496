//! Queries inside of others: as parts of one statement against rows read by themselves, and against rows known beforehand.

use crate::engines::on_each;
use crate::join_paths::{Area, Paths, Person, Random, Task, vary};
use bobak::prelude::*;
use bobak::query::{Alias, AnyOf, exists, from, not, row_number, when, window};

/// The name of a second person in a query.
struct Peer;

type PeerPerson = Alias<Person, Peer>;

fn random_conditions(paths: &Paths, random: &mut Random) {
    let (text, money, hours) = (random.text(), random.money(), random.below(5) as i32 - 2);
    let peer_area = Person::AREA_ID.of_alias::<Peer>();
    let tasks = || Query::<Task>::all().subquery().and(Task::PERSON_ID.into_expr().eq(Person::ID));
    let peers =
        || Query::<PeerPerson>::all().subquery().and(peer_area.into_expr().eq(Person::AREA_ID));
    let busy = || from::<Task>().and(Task::HOURS.gt(hours));
    let query = vary!(
        random,
        from::<Person>(),
        [
            exists(tasks().and(Task::HOURS.gt(hours))),
            not(exists(tasks().and(Task::RATE.into_expr().gt(Person::PAY)))),
            Person::ID.is_in_query(busy().select(Task::PERSON_ID)),
            not(Person::NAME.lower().is_in_query(busy().select(Task::LABEL.lower()))),
            Person::AREA_ID.is_in_query(
                Query::<Area>::filter(Area::NAME.ge(text)).subquery().select(Area::CODE)
            ),
            AnyOf((
                Person::ACTIVE.eq(true),
                exists(peers().join(Person::TASKS.of_alias::<Peer>()))
            )),
            Person::PAY
                .into_expr()
                .gt(peers().select(Person::PAY.of_alias::<Peer>().min()).value()),
            Person::ID.is_in_query(
                busy()
                    .group_by(Task::PERSON_ID)
                    .and(Task::RATE.sum().gt(money))
                    .select(Task::PERSON_ID)
            ),
            not(exists(tasks().limit(2).offset(1))),
            exists(tasks().and(count::<Task>().gt(1)).select(1)),
            tasks().select(Person::PAY.sum()).value().gt(money),
            Person::ID.is_in_query(
                busy().order_by(Task::RATE.desc()).select(Task::PERSON_ID.coalesce(0)).limit(4)
            ),
            exists(
                peers().and(not(exists(
                    Query::<Task>::all()
                        .subquery()
                        .and(Task::PERSON_ID.into_expr().eq(Person::ID.of_alias::<Peer>()))
                        .and(Task::RATE.into_expr().lt(Person::PAY))
                )))
            ),
        ],
        [Person::NAME.desc(), tasks().select(Task::HOURS.max()).value().desc(),]
    );
    let total = tasks().select((Task::RATE * Task::HOURS).sum()).value();
    let latest = tasks().order_by(Task::HOURS.desc()).select(Task::LABEL).value();
    let size = when(exists(tasks()), "busy").otherwise("idle");
    match random.below(5) {
        0 => paths.compare(&query),
        1 => paths.compare(&query.select((Person::ID, total.clone(), latest, size))),
        2 => {
            let best =
                tasks().select(when(Person::ACTIVE.eq(true), Person::PAY).otherwise(money).max());
            paths.compare(&query.select((
                Person::ID,
                best.value(),
                tasks().select(Person::ID.count()).value(),
            )));
        }
        3 => {
            let number = row_number().over(window().order_by(Person::ID.asc()));
            let query = query.order_by(Person::ID.asc()).limit(3).offset(1);
            paths.compare(&query.select((number, Person::PAY.max().over(window()), total)));
        }
        _ => paths
            .compare(&query.select((total - money, tasks().select(count::<Task>()).value() * 2))),
    }
}

fn random_groups(paths: &Paths, random: &mut Random) {
    let (hours, money) = (random.below(5) as i32 - 2, random.money());
    let average = || from::<Task>().and(Task::HOURS.lt(hours)).select(Task::RATE.max());
    let peers = || {
        Query::<PeerPerson>::filter(Person::ACTIVE.of_alias::<Peer>().eq(true))
            .subquery()
            .and(Person::AREA_ID.of_alias::<Peer>().into_expr().eq(Area::CODE))
    };
    let initial = || Area::CODE.concat("-").concat(Area::NAME.coalesce("?"));
    let query = vary!(
        random,
        Query::<Area>::all().left_join(Area::PEOPLE).left_join(Person::TASKS),
        [
            Task::RATE.max().lt(average().value()),
            exists(peers()),
            count::<Task>().gt(peers().select(count::<PeerPerson>()).value()),
            not(exists(peers().and(Person::PAY.of_alias::<Peer>().into_expr().gt(money)))),
        ],
        [count::<Task>().desc()]
    );
    let people = peers().select(count::<PeerPerson>()).value().coalesce(0);
    match random.below(5) {
        0 => {
            let by_area = query.group_by(Area::CODE).order_by(Area::NAME.asc());
            paths.compare(&by_area.select((Area::CODE, count::<Task>(), people, Task::RATE.max())));
        }
        1 => paths
            .compare(&query.group_by(Area::CODE).group_by(initial()).select((initial(), people))),
        2 => {
            let name = || Area::NAME.coalesce("a").lower();
            let named = query.group_by(name()).and(AnyOf((name().eq("a"), count::<Task>().gt(2))));
            paths.compare(&named.select((name().upper(), count::<Task>())));
        }
        3 if money.scaled() % 2 == 0 => {
            let none = when(count::<Task>().gt(2), None::<i64>).otherwise(None::<i64>);
            paths.compare(&query.select(none));
        }
        3 => paths.compare(&query.order_by(Area::CODE.min().desc()).select(("all", people))),
        _ => paths.compare(
            &query.group_by(Area::CODE).select((people - count::<Task>(), average().value())),
        ),
    }
}

pub(crate) fn check(url: &str) {
    let paths = Paths::open(url);
    paths.joined();
    let mut random = Random(3);
    for _ in 0..120 {
        random_conditions(&paths, &mut random);
        random_groups(&paths, &mut random);
    }
    let joined = paths.joined();
    assert!(joined > 150, "{joined} of 240 as one statement on {url}");
}

#[test]
fn nested_queries_as_statements_have_the_same_rows() {
    on_each(|place| {
        if !place.is_memory_engine() {
            check(&place.url);
        }
    });
}

#[test]
#[cfg(all(feature = "mysql", feature = "postgres"))]
fn nested_queries_of_servers_have_the_same_rows() {
    crate::engines::on_servers(check);
}
