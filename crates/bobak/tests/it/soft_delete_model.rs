//! Random programs delete, restore and purge, and leave what a model in memory says.

use crate::engines::on_each;
use crate::rules_model::Random;
use bobak::prelude::*;
use bobak::{Filter, Result};
use std::collections::BTreeMap;

#[derive(Record, Clone, Debug, PartialEq)]
#[record(table = "soft_item")]
struct Item {
    #[record(key = "given")]
    id: i64,
    total: i64,
    #[record(deleted_at)]
    deleted_at: Option<Timestamp>,
}

/// By key: the total, and whether the row is deleted.
type Model = BTreeMap<i64, (i64, bool)>;

/// Changes the rows that match; returns their number.
fn change(
    model: &mut Model,
    matches: impl Fn(i64, bool) -> bool,
    to: impl Fn(&mut (i64, bool)),
) -> u64 {
    let rows = model.values_mut().filter(|(total, deleted)| matches(*total, *deleted));
    rows.map(to).count() as u64
}

fn name<R>(result: Result<R>, name: impl Fn(R) -> String) -> String {
    result.map_or_else(|error| format!("{:?}", error.kind()), name)
}

fn step(db: &Db, model: &mut Model, random: &mut Random) -> Result<(String, String)> {
    let items = db.table::<Item>()?;
    let (id, total) = (random.below(8) as i64, random.below(10) as i64);
    let item = Item { id, total, deleted_at: None };
    let stored = model.get(&id).copied();
    let is_live = stored.is_some_and(|(_, deleted)| !deleted);
    let matching = || -> Filter<Item> { Item::TOTAL.lt(total) };
    let put = |model: &mut Model| {
        model.insert(id, (total, false));
    };
    Ok(match random.below(12) {
        0 | 1 => {
            let wanted = if stored.is_some() { "Duplicate" } else { "" };
            if stored.is_none() {
                put(model);
            }
            (name(items.insert(&item), |_| String::new()), wanted.to_owned())
        }
        2 => {
            put(model);
            (name(items.upsert(&item), |_| String::new()), String::new())
        }
        3 => {
            if is_live {
                put(model);
            }
            let wanted = if is_live { "" } else { "NotFound" };
            (name(items.update(&item), |()| String::new()), wanted.to_owned())
        }
        4 => {
            if let Some((_, deleted)) = model.get_mut(&id) {
                *deleted = true;
            }
            (items.delete(id)?.to_string(), is_live.to_string())
        }
        5 => {
            if let Some((_, deleted)) = model.get_mut(&id) {
                *deleted = false;
            }
            let wanted = stored.is_some() && !is_live;
            (items.restore(id)?.to_string(), wanted.to_string())
        }
        6 => {
            let found = items.delete_where(matching())?;
            let live = |other, deleted: bool| !deleted && other < total;
            (found.to_string(), change(model, live, |row| row.1 = true).to_string())
        }
        7 => {
            let found = items.restore_where(matching())?;
            let deleted = |other, deleted: bool| deleted && other < total;
            (found.to_string(), change(model, deleted, |row| row.1 = false).to_string())
        }
        8 => {
            let found = items.set_where(matching(), [Item::TOTAL.add(3)])?;
            let live = |other, deleted: bool| !deleted && other < total;
            (found.to_string(), change(model, live, |row| row.0 += 3).to_string())
        }
        9 => {
            let found = items.set_where(Item::DELETED_AT.is_not_null(), [Item::TOTAL.add(1)])?;
            (found.to_string(), change(model, |_, deleted| deleted, |row| row.0 += 1).to_string())
        }
        10 => {
            let before = model.len();
            model.retain(|_, (_, deleted)| !*deleted);
            (items.purge(Timestamp::MAX)?.to_string(), (before - model.len()).to_string())
        }
        _ => {
            let mut batch = db.batch(BatchOptions::new());
            batch.delete::<Item>(id)?;
            batch.upsert(&Item { id: 9, ..item })?;
            batch.delete::<Item>(9)?;
            if let Some((_, deleted)) = model.get_mut(&id) {
                *deleted = true;
            }
            model.insert(9, (total, true));
            (batch.finish()?.rows.to_string(), "3".to_owned())
        }
    })
}

/// Runs random programs on an empty database, with and without hooks.
fn play(open: impl Fn(bobak::DbBuilder) -> Db) {
    for (hooks, seed) in [(false, 0), (false, 1), (true, 2), (true, 3)] {
        let mut builder = Db::builder().record::<Item>();
        if hooks {
            builder =
                builder.before_delete(|_, _: &Item| Ok(())).after_update(|_, _: &Item, _| Ok(()));
        }
        let db = open(builder);
        db.create_missing_tables().unwrap();
        let items = db.table::<Item>().unwrap();
        items.delete_all().unwrap();
        items.purge(Timestamp::MAX).unwrap();
        let (mut model, mut random) = (Model::new(), Random(seed));
        for number in 0..150 {
            let (found, wanted) = step(&db, &mut model, &mut random).unwrap();
            assert_eq!(found, wanted, "hooks {hooks}, seed {seed}, step {number}");
            let stored = items.list(Query::all().with_deleted()).unwrap();
            let stored = stored.into_iter().map(|i| (i.id, (i.total, i.deleted_at.is_some())));
            assert_eq!(stored.collect::<Model>(), model, "seed {seed}, step {number}");
            let live = model.values().filter(|(_, deleted)| !deleted).count() as u64;
            assert_eq!(items.count(Query::all()).unwrap(), live);
        }
    }
}

#[test]
fn random_programs_keep_deleted_rows_on_embedded_engines() {
    on_each(|place| play(|builder| builder.open(&place.url).unwrap()));
}

#[test]
#[cfg(all(feature = "mysql", feature = "postgres"))]
fn random_programs_keep_deleted_rows_on_servers() {
    crate::engines::on_servers(|url| play(|builder| builder.open(url).unwrap()));
}
