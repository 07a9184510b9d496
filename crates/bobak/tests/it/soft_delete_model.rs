//! Random programs delete, restore and purge, and leave what a model in memory says.

use crate::engines::on_each;
use crate::rules_model::Random;
use bobak::prelude::*;
use bobak::{Filter, Result};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Record, Clone, Debug, PartialEq)]
#[record(table = "soft_item", index(code, live, unique))]
struct Item {
    #[record(key = "given")]
    id: i64,
    code: Option<i64>,
    total: i64,
    #[record(deleted_at)]
    deleted_at: Option<Timestamp>,
    #[record(live)]
    live: Option<bool>,
}

/// By key: the total, whether the row is deleted, and the code.
type Model = BTreeMap<i64, (i64, bool, Option<i64>)>;

/// Changes the rows that match; returns their number. Live rows whose codes would be equal are a `Duplicate`.
fn change(
    model: &mut Model,
    matches: impl Fn(i64, bool) -> bool,
    to: impl Fn(&mut (i64, bool, Option<i64>)),
) -> String {
    let mut changed = model.clone();
    let rows = changed.values_mut().filter(|(total, deleted, _)| matches(*total, *deleted));
    let count = rows.map(to).count();
    commit(model, changed, count.to_string())
}

/// Makes a change unless two live rows then had the same code.
fn commit(model: &mut Model, changed: Model, done: String) -> String {
    let mut codes = BTreeSet::new();
    let mut live = changed.values().filter(|(_, deleted, _)| !deleted).filter_map(|row| row.2);
    if live.any(|code| !codes.insert(code)) {
        return "Duplicate".to_owned();
    }
    *model = changed;
    done
}

fn put(model: &mut Model, item: &Item) -> String {
    let mut changed = model.clone();
    changed.insert(item.id, (item.total, false, item.code));
    commit(model, changed, "()".to_owned())
}

fn name<R: std::fmt::Debug>(result: Result<R>) -> String {
    result.map_or_else(|error| format!("{:?}", error.kind()), |done| format!("{done:?}"))
}

fn step(db: &Db, model: &mut Model, random: &mut Random) -> Result<(String, String)> {
    let items = db.table::<Item>()?;
    let (id, total) = (random.below(8) as i64, random.below(10) as i64);
    let code = (random.below(3) > 0).then(|| random.below(4) as i64);
    let item = Item { id, code, total, deleted_at: None, live: None };
    let stored = model.get(&id).copied();
    let is_live = stored.is_some_and(|(_, deleted, _)| !deleted);
    let matching = || -> Filter<Item> { Item::TOTAL.lt(total) };
    let unit = |result: Result<i64>| name(result.map(drop));
    Ok(match random.below(13) {
        0 | 1 => {
            let wanted = match stored {
                Some(_) => "Duplicate".to_owned(),
                None => put(model, &item),
            };
            (unit(items.insert(&item)), wanted)
        }
        2 => (unit(items.upsert(&item)), put(model, &item)),
        3 => {
            let wanted = if is_live { put(model, &item) } else { "NotFound".to_owned() };
            (name(items.update(&item)), wanted)
        }
        4 => {
            if let Some((_, deleted, _)) = model.get_mut(&id) {
                *deleted = true;
            }
            (items.delete(id)?.to_string(), is_live.to_string())
        }
        5 => {
            let mut changed = model.clone();
            if let Some((_, deleted, _)) = changed.get_mut(&id) {
                *deleted = false;
            }
            let found = stored.is_some() && !is_live;
            (name(items.restore(id)), commit(model, changed, found.to_string()))
        }
        6 => {
            let found = items.delete_where(matching())?;
            let live = |other, deleted: bool| !deleted && other < total;
            (found.to_string(), change(model, live, |row| row.1 = true))
        }
        7 => {
            let deleted = |other, deleted: bool| deleted && other < total;
            (name(items.restore_where(matching())), change(model, deleted, |row| row.1 = false))
        }
        8 => {
            let found = items.set_where(matching(), [Item::TOTAL.add(3)])?;
            let live = |other, deleted: bool| !deleted && other < total;
            (found.to_string(), change(model, live, |row| row.0 += 3))
        }
        9 => {
            let found = items.set_where(Item::DELETED_AT.is_not_null(), [Item::TOTAL.add(1)])?;
            (found.to_string(), change(model, |_, deleted| deleted, |row| row.0 += 1))
        }
        10 => {
            let before = model.len();
            model.retain(|_, (_, deleted, _)| !*deleted);
            (items.purge(Timestamp::MAX)?.to_string(), (before - model.len()).to_string())
        }
        11 => {
            let is_found =
                |row: &(i64, bool, Option<i64>)| !row.1 && code.is_some() && row.2 == code;
            let found = model.iter().find(|(_, row)| is_found(row)).map(|(id, _)| *id);
            let wanted = match (found, stored) {
                (None, Some(_)) => "Duplicate".to_owned(),
                (found, _) => {
                    let id = found.unwrap_or(id);
                    put(model, &Item { id, ..item.clone() });
                    id.to_string()
                }
            };
            (name(items.upsert_on((Item::CODE, Item::LIVE), &item)), wanted)
        }
        _ => {
            let mut batch = db.batch(BatchOptions::new());
            batch.delete::<Item>(id)?;
            batch.upsert(&Item { id: 9, code: Some(9), ..item })?;
            batch.delete::<Item>(9)?;
            if let Some((_, deleted, _)) = model.get_mut(&id) {
                *deleted = true;
            }
            model.insert(9, (total, true, Some(9)));
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
            let all = items.list(Query::all().with_deleted()).unwrap();
            let rows = all.iter().map(|i| (i.id, (i.total, i.deleted_at.is_some(), i.code)));
            assert_eq!(rows.collect::<Model>(), model, "seed {seed}, step {number}");
            assert!(all.iter().all(|item| item.live.is_some() == item.deleted_at.is_none()));
            let live = model.values().filter(|(_, deleted, _)| !deleted).count() as u64;
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

#[test]
fn random_programs_keep_deleted_rows_on_a_server_that_knows_the_record() {
    let served = Db::builder().record::<Item>().open("memory:").unwrap();
    let engine = crate::rules_model::Passed(served.engine().unwrap());
    crate::engines::on_bobak_server(engine, |url| play(|builder| builder.open(url).unwrap()));
}
