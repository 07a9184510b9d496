//! Random programs of several tenants, each behind its scope, leave what a model in memory says.

use crate::engines::on_each;
use crate::rules_model::Random;
use bobak::prelude::*;
use bobak::{Result, RowScope};
use std::collections::BTreeMap;

#[derive(Record, Clone, Debug, PartialEq)]
#[record(table = "scoped_item")]
struct Item {
    #[record(key = "given")]
    id: i64,
    tenant: i64,
    total: i64,
}

/// By key: the tenant and the total.
type Model = BTreeMap<i64, (i64, i64)>;

const TENANTS: i64 = 3;

fn of(db: &Db, tenant: i64) -> Db {
    let scope = RowScope::new(format!("tenant {tenant}"))
        .grant("read, write on scoped_item where tenant = :tenant")
        .variable("tenant", tenant);
    db.scoped(&scope).unwrap()
}

fn name<R: std::fmt::Debug>(result: Result<R>) -> String {
    match result.as_ref().map_err(Error::kind) {
        // Which one a hidden row causes depends on the engine.
        Err(ErrorKind::Denied | ErrorKind::Duplicate | ErrorKind::NotFound) => "rejected".into(),
        Err(kind) => format!("{kind:?}"),
        Ok(done) => format!("{done:?}"),
    }
}

/// Changes the tenant's rows that match; returns their number.
fn change(
    model: &mut Model,
    matches: impl Fn(&(i64, i64)) -> bool,
    to: impl Fn(&mut (i64, i64)),
) -> String {
    let rows = model.values_mut().filter(|row| matches(row));
    rows.map(to).count().to_string()
}

/// One call in a tenant's scope: its result, and that of the model.
fn step(
    scoped: &Db,
    tenant: i64,
    model: &mut Model,
    random: &mut Random,
) -> Result<(String, String)> {
    let items = scoped.table::<Item>()?;
    let (id, total) = (random.below(12) as i64, random.below(10) as i64);
    // Some rows are those of another tenant.
    let owner = if random.below(4) > 0 { tenant } else { random.below(3) as i64 };
    let item = Item { id, tenant: owner, total };
    let stored = model.get(&id).copied();
    let is_own = stored.is_some_and(|(stored, _)| stored == tenant);
    let may_write = owner == tenant && (stored.is_none() || is_own);
    let rejected = || "rejected".to_owned();
    let below = move |row: &(i64, i64)| row.0 == tenant && row.1 < total;
    Ok(match random.below(10) {
        0 | 1 => {
            let wanted = match may_write && stored.is_none() {
                true => model.insert(id, (owner, total)).map_or("()".to_owned(), |_| rejected()),
                false => rejected(),
            };
            (name(items.insert(&item).map(drop)), wanted)
        }
        2 => {
            let wanted = match may_write {
                true => model.insert(id, (owner, total)).map_or("()", |_| "()").to_owned(),
                false => rejected(),
            };
            (name(items.upsert(&item).map(drop)), wanted)
        }
        3 => {
            let wanted = match may_write && is_own {
                true => model.insert(id, (owner, total)).map_or("()", |_| "()").to_owned(),
                false => rejected(),
            };
            (name(items.update(&item)), wanted)
        }
        4 => {
            if is_own {
                model.remove(&id);
            }
            (name(items.delete(id)), is_own.to_string())
        }
        5 => {
            let done = items.set_where(Item::TOTAL.lt(total), [Item::TOTAL.add(1)]);
            (name(done), change(model, below, |row| row.1 += 1))
        }
        6 => {
            let found = model.values().filter(|row| below(row)).count();
            model.retain(|_, row| !below(row) || row.1 % 2 == 0);
            let left = model.values().filter(|row| below(row)).count();
            // Those with an even total stay.
            let filter = Item::TOTAL.lt(total).and(Item::TOTAL.is_in([1, 3, 5, 7, 9, 11, 13, 15]));
            let odd = (found - left).to_string();
            (name(items.delete_where(filter)), odd)
        }
        7 => {
            let wanted = stored.filter(|_| is_own).map(|(_, total)| total);
            (name(items.get(id).map(|row| row.map(|row| row.total))), format!("{wanted:?}"))
        }
        8 => {
            let wanted: Vec<_> = model.iter().filter(|(_, row)| row.0 == tenant).collect();
            let found = items.list(Query::all())?;
            let found: Vec<_> = found.iter().map(|i| (i.id, (i.tenant, i.total))).collect();
            (format!("{found:?}"), format!("{wanted:?}"))
        }
        _ => {
            let own = model.values().filter(|row| row.0 == tenant);
            let sum = own.map(|row| row.1).reduce(|a, b| a + b);
            (name(items.sum(Query::all(), Item::TOTAL)), format!("{sum:?}"))
        }
    })
}

fn play(url: &str) {
    for seed in 0..4 {
        let db = Db::builder().record::<Item>().open(url).unwrap();
        db.create_missing_tables().unwrap();
        let items = db.table::<Item>().unwrap();
        items.delete_all().unwrap();
        let scoped: Vec<Db> = (0..TENANTS).map(|tenant| of(&db, tenant)).collect();
        let (mut model, mut random) = (Model::new(), Random(seed));
        for number in 0..200 {
            let tenant = random.below(TENANTS as u64) as usize;
            let (found, wanted) =
                step(&scoped[tenant], tenant as i64, &mut model, &mut random).unwrap();
            assert_eq!(found, wanted, "{url}, seed {seed}, step {number}");
            let all = items.list(Query::all()).unwrap();
            let all: Model = all.iter().map(|item| (item.id, (item.tenant, item.total))).collect();
            assert_eq!(all, model, "{url}, seed {seed}, step {number}");
        }
    }
}

#[test]
fn random_programs_of_tenants_stay_apart_on_embedded_engines() {
    on_each(|place| play(&place.url));
}

#[test]
#[cfg(all(feature = "mysql", feature = "postgres"))]
fn random_programs_of_tenants_stay_apart_on_servers() {
    crate::engines::on_servers(play);
}
