//! Full-text search.

use super::{equal, ids, with};
use crate::{Check, Entry, Harness, NULL, Probe, Table, create, fails, holds, row, same, tables};
use bobak_core::search::{SearchLanguage, SearchQuery, is_search_name};
use bobak_core::{
    Assign, BulkChange, ColumnSchema, Expr, OnError, Order, SchemaChange, Select, Source,
    TableAlteration, TableSchema, TableSchemaBuilder,
    TransactionControl::{Begin, Commit, Rollback},
    Value, Verb,
};
use std::sync::Arc;

/// `article(id, title, body, stars)`, without a search.
fn plain() -> TableSchemaBuilder {
    TableSchema::builder("article")
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<String>("title"))
        .column(ColumnSchema::of::<Option<String>>("body"))
        .column(ColumnSchema::of::<i64>("stars"))
        .key(["id"])
}

fn article() -> Check<Table> {
    Ok(Arc::new(plain().search(["title", "body"], SearchLanguage::Simple).build()?))
}

fn searching(table: &Table, text: &str, ranked: bool) -> Check<Select> {
    Ok(Select::all(table).searching(Arc::new(SearchQuery::parse(text)?), ranked)?)
}

/// The keys of the rows that a search finds, by key.
fn found(probe: &Probe<'_>, table: &Table, text: &str) -> Check<Vec<i64>> {
    Ok(ids(&probe.select(&searching(table, text, false)?)?))
}

/// Runs a case over an engine that searches, with these tables; another engine rejects the tables and the queries.
fn with_search(
    harness: &dyn Harness,
    tables: &[&Table],
    case: impl FnOnce(&Probe<'_>) -> Check,
) -> Check {
    let store = harness.fresh()?;
    if store.engine().capabilities().search {
        return case(&Probe::with_tables(store.engine(), tables)?);
    }
    for table in tables {
        let created = store.engine().alter(&[SchemaChange::CreateTable(Arc::clone(table))]);
        fails("a searched table", created, bobak_core::ErrorKind::Unsupported)?;
    }
    let (mark, article) = (tables::mark()?, article()?);
    create(store.engine(), &[&mark])?;
    let probe = Probe::new(store.engine())?;
    let mut select = Select::all(&mark);
    select.search = searching(&article, "word", true)?.search;
    fails("a search", probe.select(&select), bobak_core::ErrorKind::Unsupported).map(drop)
}

fn fill(probe: &Probe<'_>, article: &Table) -> Check {
    let rows = [
        (1, "The quick brown fox", Some("jumps over the lazy dog"), 5),
        (2, "Über den Café", Some("Don't stop_it, foo-bar; a/b my-x"), 1),
        (3, "A slow fox", None, 3),
        (4, "Quick dogs", Some("run quickly. Quick, quick!"), 2),
        (5, "Last word", Some("first in example.com at 12:30"), 4),
        (6, "", Some(""), 0),
    ];
    probe.insert_all(
        article,
        rows.into_iter().map(|(id, title, body, stars)| {
            row![id, title, body.map_or(NULL, |body| Value::from(body.to_owned())), stars]
        }),
    )?;
    Ok(())
}

/// Words, phrases, prefixes and their combinations find the same rows on every engine.
pub fn a_query_finds_the_same_rows_everywhere(harness: &dyn Harness) -> Check {
    let article = article()?;
    with_search(harness, &[&article], |probe| {
        fill(probe, &article)?;
        for (text, expected) in [
            ("quick", &[1, 4][..]),
            ("QUICK fox", &[1]),
            ("quick AND fox", &[1]),
            ("fox OR quick", &[1, 3, 4]),
            ("fox NOT quick", &[3]),
            ("NOT quick fox", &[3]),
            ("quick NOT (lazy OR nothing)", &[4]),
            ("(quick OR slow) fox", &[1, 3]),
            ("(quick fox) OR (last word)", &[1, 5]),
            ("(fox NOT quick) OR (quick NOT fox)", &[3, 4]),
            ("dog NOT (slow fox)", &[1]),
            ("\"brown fox\"", &[1]),
            ("\"fox brown\"", &[]),
            ("\"lazy dog\" quick", &[1]),
            ("\"fox jumps\"", &[]),
            ("qui*", &[1, 4]),
            ("do* NOT dogs", &[1, 2]),
            ("the", &[1]),
            ("\"over the lazy\"", &[1]),
            ("a", &[2, 3]),
            ("my", &[2]),
            ("\"a slow\"", &[3]),
            ("don't", &[2]),
            ("\"don t\"", &[2]),
            ("stop it", &[2]),
            ("stop_it", &[2]),
            ("foo-bar", &[2]),
            ("bar foo", &[2]),
            ("b", &[2]),
            ("über", &[2]),
            ("uber", &[]),
            ("CAFÉ", &[2]),
            ("example", &[5]),
            ("com", &[5]),
            ("12:30", &[5]),
            ("12", &[5]),
            ("missing", &[]),
        ] {
            same(text, found(probe, &article, text)?, expected.to_vec())?;
        }
        Ok(())
    })
}

/// Words are the same on every engine, whatever separates them and whatever their script, and so are their beginnings.
pub fn words_are_the_same_everywhere(harness: &dyn Harness) -> Check {
    let article = article()?;
    with_search(harness, &[&article], |probe| {
        let rows = [
            (1, "Alice", "x"),
            (2, "Bob", ""),
            (3, "fox🦊", "love🥰 you"),
            (4, "re\u{301}sume\u{301} page", "n\u{303}andu\u{301} e\u{301}"),
            (5, "x² y", "½ cup"),
            (6, "हिन्दी भाषा", "தமிழ் மொழி"),
            (7, "İstanbul", "σας"),
            (8, "“Quoted”–text…", "l’été ₽57 1️⃣ ❤️ok"),
        ];
        probe.insert_all(&article, rows.map(|(id, title, body)| row![id, title, body, 0]))?;
        for (text, expected) in [
            ("b*", &[2][..]),
            ("bo*", &[2]),
            ("alice NOT bob*", &[1]),
            ("bobakcolumnend", &[]),
            ("\"alice x\"", &[]),
            ("x*", &[1, 5]),
            ("xz*", &[]),
            ("xzqx", &[]),
            ("fox", &[3]),
            ("fox🦊", &[3]),
            ("love", &[3]),
            ("\"love you\"", &[3]),
            ("RE\u{301}SUME\u{301}", &[4]),
            ("resume OR sume OR page*", &[4]),
            ("resume OR sume OR e", &[]),
            ("n\u{303}andu\u{301}", &[4]),
            ("\"n\u{303}andu\u{301} e\u{301}\"", &[4]),
            ("x", &[1, 5]),
            ("\"x y\"", &[5]),
            ("cup", &[5]),
            ("हिन्दी", &[6]),
            ("हिन OR दी", &[]),
            ("हि*", &[6]),
            ("\"हिन्दी भाषा\"", &[6]),
            ("தமிழ்", &[6]),
            ("istanbul", &[]),
            ("İstan*", &[7]),
            ("İSTANBUL", &[7]),
            ("ΣΑΣ", &[7]),
            ("σας", &[7]),
            ("quoted", &[8]),
            ("\"quoted text\"", &[8]),
            ("été", &[8]),
            ("57", &[8]),
            ("\"1 ok\"", &[8]),
            ("\"love you\" OR bo*", &[2, 3]),
            ("bo* OR (x \"x y\")", &[2, 5]),
            ("\"love you\" NOT fo*", &[]),
            ("fo* NOT \"you love\"", &[3]),
            ("\"love you\" fo*", &[3]),
        ] {
            same(text, found(probe, &article, text)?, expected.to_vec())?;
        }
        Ok(())
    })
}

/// The index follows every kind of write.
pub fn the_index_follows_every_write(harness: &dyn Harness) -> Check {
    let article = article()?;
    with_search(harness, &[&article], |probe| {
        fill(probe, &article)?;
        probe.update(&article, row![3, "A fast wolf", "howls", 3])?;
        same("updated away", found(probe, &article, "fox")?, vec![1])?;
        same("updated to", found(probe, &article, "wolf howls")?, vec![3])?;
        probe.delete(&article, row![1])?;
        same("deleted", found(probe, &article, "fox OR lazy")?, vec![])?;
        probe.write(&article, Verb::Upsert, row![4, "wolf cubs", NULL, 1])?;
        same("upserted", found(probe, &article, "wolf")?, vec![3, 4])?;
        probe.write(&article, Verb::InsertOrReplace, row![4, "lambs", NULL, 1])?;
        same("replaced", found(probe, &article, "wolf")?, vec![3])?;
        same("replaced by", found(probe, &article, "lambs")?, vec![4])?;
        let rows =
            (10..400).map(|id| Entry::insert(&article, row![id, format!("wolf n{id}"), NULL, 0]));
        probe.batch(&rows.collect::<Vec<_>>(), OnError::Stop).outcomes()?;
        same("a batch", found(probe, &article, "wolf n399")?, vec![399])?;
        let assign = [Assign::Set { column: 1, value: Value::from("bear") }];
        let condition = equal(0, 399);
        let change =
            BulkChange { table: &article, condition: Some(&condition), assign: Some(&assign) };
        probe.session.change(&change)?;
        same("changed", found(probe, &article, "bear")?, vec![399])?;
        probe.delete_where(&article, Some(equal(3, 0)))?;
        same("many deleted", found(probe, &article, "wolf OR bear")?, vec![3])
    })
}

/// A rollback takes the index back, and a transaction's own rows are found if the engine says so.
pub fn the_index_follows_transactions(harness: &dyn Harness) -> Check {
    let article = article()?;
    with_search(harness, &[&article], |probe| {
        fill(probe, &article)?;
        probe.control(Begin)?;
        probe.insert(&article, row![20, "otter", NULL, 1])?;
        probe.delete(&article, row![3])?;
        if probe.capabilities.search_in_transaction {
            same("own rows", found(probe, &article, "otter OR slow")?, vec![20])?;
        }
        probe.control(Rollback)?;
        same("rolled back", found(probe, &article, "otter OR slow")?, vec![3])?;
        probe.control(Begin)?;
        probe.insert(&article, row![21, "otter", NULL, 1])?;
        probe.control(Commit)?;
        same("committed", found(probe, &article, "otter")?, vec![21])
    })
}

/// The best rows come first; conditions, limits, counts and cursors work with a search.
pub fn results_are_ranked_filtered_and_paged(harness: &dyn Harness) -> Check {
    let article = article()?;
    with_search(harness, &[&article], |probe| {
        fill(probe, &article)?;
        let filler = (100..140).map(|id| row![id, format!("plain text {id}"), "not needed", 9]);
        probe.insert_all(&article, filler)?;
        let mut select = searching(&article, "quick", true)?;
        select.columns = vec![Expr::Column(0), Expr::Rank];
        let rows = probe.select(&select)?;
        same("by rank", ids(&rows), vec![4, 1])?;
        let ranks: Vec<f64> = rows
            .iter()
            .map(|row| if let Some(Value::Float(rank)) = row.get(1) { *rank } else { f64::NAN })
            .collect();
        holds("ranks descend and are positive", ranks[0] >= ranks[1] && ranks[1] > 0.0)?;
        let page = |limit, offset| Select { limit: Some(limit), offset, ..select.clone() };
        same("the first", ids(&probe.select(&page(1, 0))?), vec![4])?;
        same("the second", ids(&probe.select(&page(1, 1))?), vec![1])?;
        same("beyond", ids(&probe.select(&page(5, 2))?), vec![])?;
        let mut filtered = searching(&article, "quick OR fox", false)?;
        filtered.condition = Some(equal(3, 5));
        same("filtered", ids(&probe.select(&filtered)?), vec![1])?;
        let mut sorted = searching(&article, "quick OR fox OR word", false)?;
        sorted.order.insert(0, Order { column: 3, descending: true });
        same("sorted", ids(&probe.select(&sorted)?), vec![1, 5, 3, 4])?;
        let mut count = searching(&article, "plain NOT 100", false)?;
        count.columns = vec![Expr::Count, Expr::Max(0), Expr::Max(1)];
        count.order.clear();
        same("counted", probe.select(&count)?, vec![row![39, 139, "plain text 139"]])?;
        let mut cursor = probe.session.open(&Source::Select(&filtered))?;
        same("a cursor", ids(&probe.drain(&mut cursor)?), vec![1])?;
        let mut wrong = Select::all(&article);
        wrong.columns = vec![Expr::Rank];
        fails("a rank alone", probe.select(&wrong), bobak_core::ErrorKind::Schema)?;
        let mark = tables::mark()?;
        let mut wrong = Select::all(&mark);
        wrong.search = select.search;
        fails("no search", probe.select(&wrong), bobak_core::ErrorKind::Schema).map(drop)
    })
}

/// Tables with other keys are searched, too.
pub fn tables_with_any_key_are_searched(harness: &dyn Harness) -> Check {
    let text = ColumnSchema::of::<String>;
    let named =
        TableSchema::builder("named").column(text("name").max_chars(40)).column(text("about"));
    let named = named.key(["name"]).search(["about", "name"], SearchLanguage::English).build()?;
    let pair = TableSchema::builder("pair")
        .column(ColumnSchema::of::<i64>("a"))
        .column(ColumnSchema::of::<i64>("b"))
        .column(text("rowid"))
        .key(["a", "b"])
        .column(text("words \"quoted\""))
        .search(["words \"quoted\""], SearchLanguage::Simple)
        .build()?;
    let (named, pair) = (Arc::new(named), Arc::new(pair));
    with_search(harness, &[&named, &pair], |probe| {
        probe.insert_all(&named, [row!["ada", "first programmer"], row!["grace", "compiler"]])?;
        probe.insert_all(&pair, [row![1, 2, "r", "red hat"], row![1, 3, "s", "blue hat"]])?;
        let names = |text: &str| -> Check<Vec<Value<'static>>> {
            let rows = probe.select(&searching(&named, text, true)?)?;
            Ok(rows.into_iter().filter_map(|row| row.into_iter().next()).collect())
        };
        same("by text", names("programmer OR nothing")?, vec![Value::from("ada")])?;
        same("the key", names("grace")?, vec![Value::from("grace")])?;
        let rows = probe.select(&searching(&pair, "hat NOT red", true)?)?;
        same("two columns", rows, vec![row![1, 3, "s", "blue hat"]])?;
        probe.delete(&pair, row![1, 3])?;
        same("deleted", probe.select(&searching(&pair, "blue", true)?)?, vec![])
    })
}

/// A search is described as it was declared, and added to, changed in and removed from tables with rows.
pub fn searches_are_described_and_altered(harness: &dyn Harness) -> Check {
    let article = article()?;
    with_search(harness, &[&article], |probe| {
        let stored = |probe: &Probe<'_>, name: &str| -> Check<TableSchema> {
            Ok(TableSchema::find_in(probe.session.tables()?, name)?)
        };
        same("declared", stored(probe, "article")?.search(), article.search())?;
        holds("same", stored(probe, "article")?.same_as(&article))?;
        same("no view", probe.session.views()?.len(), 0)?;
        let losses = probe.session.schema_details()?.losses;
        let is_own = |table: &str| table == "article" || is_search_name(table);
        same("lost", losses.iter().filter(|loss| is_own(&loss.table)).count(), 0)?;
        if !probe.capabilities.alter_table {
            return Ok(());
        }
        fill(probe, &article)?;
        let alter = |to: &Table, renamed: &[(&str, &str)], dropped: &[&str]| -> Check<Table> {
            let from = Arc::new(stored(probe, "article").or_else(|_| stored(probe, "paper"))?);
            let change = TableAlteration::new(from, Arc::clone(to), renamed, dropped)?;
            probe.session.alter(&[SchemaChange::AlterTable(Arc::new(change))])?;
            let after = Arc::new(stored(probe, to.name())?);
            let language = |table: &TableSchema| table.search().map(|search| search.language);
            let names = |table: &TableSchema| {
                table.search().map(|search| table.column_names(&search.columns))
            };
            same("language", language(&after), language(to))?;
            same("columns", names(&after), names(to))?;
            Ok(after)
        };
        let without = alter(&Arc::new(plain().build()?), &[], &[])?;
        let select = searching(&article, "quick", false)?;
        holds("no search any more", probe.select(&select).is_err())?;
        probe.insert(&without, row![30, "added meanwhile", NULL, 1])?;
        let titles = plain().search(["title"], SearchLanguage::English).build()?;
        let titles = alter(&Arc::new(titles), &[], &[])?;
        same("one column", found(probe, &titles, "fox OR lazy OR meanwhile")?, vec![1, 3, 30])?;
        let renamed = titles.rename("paper", |name| (name == "title").then_some("heading"))?;
        let renamed = alter(&Arc::new(renamed), &[("title", "heading")], &[])?;
        same("renamed", found(probe, &renamed, "fox")?, vec![1, 3])?;
        probe.insert(&renamed, row![31, "fox again", NULL, 1])?;
        same("new rows", found(probe, &renamed, "fox")?, vec![1, 3, 31])?;
        // A rule that SQLite rebuilds the table for, and a column that is not searched.
        let ruled = renamed.as_ref().clone().map_columns(|mut column| {
            column.nullable |= column.name == "stars";
            column
        })?;
        let ruled = alter(&Arc::new(ruled), &[], &[])?;
        probe.update(&ruled, row![31, "wolf", NULL, NULL])?;
        same("rebuilt", found(probe, &ruled, "fox OR wolf")?, vec![1, 3, 31])?;
        let change = SchemaChange::DropTable(Arc::clone(&ruled));
        probe.session.alter(&[change])?;
        same("dropped", probe.session.tables()?.len(), 0)?;
        probe.session.alter(&[SchemaChange::CreateTable(Arc::clone(&article))])?;
        same("created again", found(probe, &article, "fox")?, vec![])
    })
}

/// Rows of a table without a search are as before; a search over what is no text is an error.
pub fn only_texts_are_searched(harness: &dyn Harness) -> Check {
    let wrong = plain().search(["stars"], SearchLanguage::Simple).build();
    fails("a number", wrong, bobak_core::ErrorKind::Schema)?;
    let wrong = plain().search(["title", "title"], SearchLanguage::Simple).build();
    fails("twice", wrong, bobak_core::ErrorKind::Schema)?;
    let wrong = plain().search(Vec::<String>::new(), SearchLanguage::Simple).build();
    fails("nothing", wrong, bobak_core::ErrorKind::Schema)?;
    for text in
        ["", "  ", "a AND", "OR a", "(a", "a)", "\"a", "NOT a", "&", "½", "a*b*", "a b-c*", "()"]
    {
        fails(text, SearchQuery::parse(text), bobak_core::ErrorKind::Syntax)?;
    }
    let deep = format!("{}a{}", "(".repeat(10_000), ")".repeat(10_000));
    fails("deep", SearchQuery::parse(&deep), bobak_core::ErrorKind::Syntax)?;
    fails("long", SearchQuery::parse(&"a ".repeat(10_000)), bobak_core::ErrorKind::Syntax)?;
    let mark = tables::mark()?;
    with(harness, &[&mark], |probe| {
        probe.insert(&mark, row![1, 0])?;
        same("plain rows", ids(&probe.all(&mark)?), vec![1])
    })
}
