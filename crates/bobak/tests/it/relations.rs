//! Filters through relations, and shapes.

use crate::engines::{Place, on_each};
use bobak::engine::{Engine, EngineLayer, Join, Session, SessionLayer, Source};
use bobak::prelude::*;
use bobak::relation::ToMany;
use bobak::{Row, Shape};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Record, Debug, Clone, PartialEq)]
pub struct User {
    pub id: i64,
    #[record(unique)]
    pub name: String,
    #[record(references = User, index, on_delete = "set_null")]
    pub boss_id: Option<i64>,
}

#[derive(Record, Debug, Clone, PartialEq)]
pub struct Article {
    pub id: i64,
    pub title: String,
    #[record(references = User, index)]
    pub author_id: i64,
    pub draft: Option<bool>,
}

#[derive(Record, Debug, Clone, PartialEq)]
struct Tag {
    #[record(key)]
    name: String,
    weight: i64,
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(index(tag))]
struct ArticleTag {
    #[record(key, references = Article, on_delete = "cascade")]
    article_id: i64,
    #[record(key, references = Tag)]
    tag: String,
}

#[derive(Record, Debug, Clone, PartialEq)]
struct Favorite {
    #[record(key, references = Article, on_delete = "cascade")]
    article_id: i64,
    #[record(key, references = User)]
    user_id: i64,
}

impl User {
    const ARTICLES: ToMany<User, Article> = Article::AUTHOR.inverse();
    const REPORTS: ToMany<User, User> = User::BOSS.inverse();
}

impl Article {
    const TAG_LINKS: ToMany<Article, ArticleTag> = ArticleTag::ARTICLE.inverse();
    const TAGS: ToMany<Article, Tag> = Article::TAG_LINKS.then(ArticleTag::TAG_REF);
    const FAVORITES: ToMany<Article, Favorite> = Favorite::ARTICLE.inverse();
    // Without a foreign key, which no engine has to a table of another engine.
    const SIDE_TAGGINGS: ToMany<Article, SideTagging> =
        SideTagging::ARTICLE_ID.refers_to::<Article>().inverse();
    const SIDE_TAGS: ToMany<Article, SideTag> = Article::SIDE_TAGGINGS.then(SideTagging::TAG);
}

#[derive(Shape, Debug, PartialEq)]
#[shape(of = User)]
pub struct Author {
    pub name: String,
    #[shape(one = User::BOSS)]
    pub boss: Option<User>,
}

#[derive(Shape, Debug, PartialEq)]
#[shape(of = Article, with(me: i64))]
pub struct ArticleView {
    pub title: String,
    #[shape(one = Article::AUTHOR)]
    pub author: Author,
    #[shape(many = Article::TAGS, select = Tag::NAME)]
    pub tags: Vec<String>,
    #[shape(count = Article::FAVORITES)]
    pub favorites: u64,
    #[shape(exists = Article::FAVORITES, filter = Favorite::USER_ID.eq(me))]
    pub favorited: bool,
    pub id: i64,
}

#[derive(Shape, Debug, PartialEq)]
#[shape(of = User, with(lightest: i64, me: i64))]
struct UserPage {
    #[shape(column = User::NAME)]
    called: String,
    #[shape(many = User::ARTICLES, order_by = Article::TITLE.desc(), limit = 2, with = me)]
    latest: Vec<ArticleView>,
    #[shape(many = User::ARTICLES.then_many(Article::TAGS), filter = Tag::WEIGHT.ge(lightest), order_by = Tag::WEIGHT.desc())]
    tags: Vec<Tag>,
    #[shape(count = User::ARTICLES.then_many(Article::TAGS))]
    tag_count: u64,
}

fn model() -> bobak::DbBuilder {
    let builder = Db::builder().record::<User>().record::<Article>().record::<Tag>();
    builder.record::<ArticleTag>().record::<Favorite>()
}

fn fill(db: &Db) {
    let users = db.table::<User>().unwrap();
    for (id, name, boss_id) in [(1, "ada", None), (2, "bob", Some(1)), (3, "cy", Some(1))] {
        users.insert(&User { id, name: name.into(), boss_id }).unwrap();
    }
    let tags = db.table::<Tag>().unwrap();
    for (name, weight) in [("rust", 3), ("sql", 2), ("go", 1)] {
        tags.insert(&Tag { name: name.into(), weight }).unwrap();
    }
    let articles = db.table::<Article>().unwrap();
    let links = db.table::<ArticleTag>().unwrap();
    for (id, title, author_id, draft, tags) in [
        (10, "a", 2, Some(true), "rust sql"),
        (11, "b", 2, Some(false), "rust"),
        (12, "c", 2, None, ""),
        (13, "d", 1, Some(false), "go"),
    ] {
        articles.insert(&Article { id, title: title.into(), author_id, draft }).unwrap();
        for tag in tags.split_whitespace() {
            links.insert(&ArticleTag { article_id: id, tag: tag.into() }).unwrap();
        }
    }
    let favorites = db.table::<Favorite>().unwrap();
    for (article_id, user_id) in [(10, 1), (10, 3), (13, 2)] {
        favorites.insert(&Favorite { article_id, user_id }).unwrap();
    }
}

/// Runs `test` on each engine.
pub fn on_each_filled(test: impl Fn(&Db)) {
    let filled = |db: Db| {
        db.create_missing_tables().unwrap();
        fill(&db);
        test(&db);
    };
    on_each(|place: &Place| filled(model().open(&place.url).unwrap()));
}

#[derive(Record, Debug, Clone, PartialEq)]
struct SideTag {
    id: i64,
    name: String,
}

#[derive(Record, Debug, Clone, PartialEq)]
struct SideTagging {
    id: i64,
    article_id: i64,
    #[record(references = SideTag)]
    tag_id: i64,
}

impl SideTag {
    const ARTICLES: ToMany<SideTag, Article> =
        SideTagging::TAG.inverse().then(SideTagging::ARTICLE_ID.refers_to());
}

fn titles(db: &Db, filter: bobak::Filter<Article>) -> String {
    let articles = db.table::<Article>().unwrap().list(Query::filter(filter)).unwrap();
    articles.into_iter().map(|article| article.title).collect()
}

#[test]
fn filters_go_through_relations() {
    on_each_filled(|db| {
        let cases = [
            (Article::AUTHOR.has(User::NAME.eq("bob")), "abc"),
            (Article::AUTHOR.has(User::BOSS.has(User::NAME.eq("ada"))), "abc"),
            (Article::AUTHOR.has(User::BOSS_ID.is_null()), "d"),
            (Article::TAGS.any(Tag::NAME.eq("rust")), "ab"),
            (Article::TAGS.none(Tag::NAME.eq("rust")), "cd"),
            (Article::TAGS.all(Tag::WEIGHT.ge(3)), "bc"),
            (Article::TAGS.exists(), "abd"),
            (Article::TAGS.is_empty(), "c"),
            (Article::TAGS.exists().and(Article::AUTHOR_ID.eq(2)), "ab"),
            (Article::FAVORITES.any(Favorite::USER_ID.eq(3)).or(Article::TITLE.eq("c")), "ac"),
            (Article::FAVORITES.any(Favorite::USER_ID.eq(3)).not(), "bcd"),
        ];
        for (number, (filter, expected)) in cases.into_iter().enumerate() {
            assert_eq!(titles(db, filter), expected, "case {number}");
        }
        // NULL is neither true nor false, so an article without the value is no draft, and no other.
        let users = db.table::<User>().unwrap();
        let names = |filter| -> String {
            users.list(Query::filter(filter)).unwrap().into_iter().map(|user| user.name).collect()
        };
        assert_eq!(names(User::ARTICLES.all(Article::DRAFT.eq(false))), "adacy");
        assert_eq!(names(User::REPORTS.any(User::ARTICLES.exists())), "ada");
        assert_eq!(users.count(User::REPORTS.is_empty()).unwrap(), 2);
        // With NULL in its reference, a record refers to none.
        let boss = User::BOSS.as_many();
        assert_eq!(names(boss.is_empty()), "ada");
        assert_eq!(names(boss.none(User::NAME.eq("ada"))), "ada");
        assert_eq!(names(boss.none(User::NAME.eq("cy"))), "adabobcy");
        assert_eq!(names(boss.all(User::NAME.eq("cy"))), "ada");
    });
}

#[test]
fn related_records_are_listed_by_a_filter() {
    on_each_filled(|db| {
        let users = db.table::<User>().unwrap();
        let (ada, bob) = (users.require(1).unwrap(), users.require(2).unwrap());
        assert_eq!(titles(db, User::ARTICLES.of(&bob)), "abc");
        assert_eq!(users.count(User::BOSS.as_many().of(&bob)).unwrap(), 1);
        assert_eq!(users.count(User::BOSS.as_many().of(&ada)).unwrap(), 0);
        let tags = db.table::<Tag>().unwrap();
        let of_bob = User::ARTICLES.then_many(Article::TAGS).of(&bob);
        let found = tags.list(Query::filter(of_bob).order_by(Tag::WEIGHT.asc())).unwrap();
        let names: Vec<&str> = found.iter().map(|tag| tag.name.as_str()).collect();
        assert_eq!(names, ["sql", "rust"]);
    });
}

#[test]
fn changes_go_through_relations() {
    on_each_filled(|db| {
        let articles = db.table::<Article>().unwrap();
        let by_bob = Article::AUTHOR.has(User::NAME.eq("bob"));
        assert_eq!(articles.set_where(by_bob, [Article::DRAFT.set(true)]).unwrap(), 3);
        let users = db.table::<User>().unwrap();
        let idle = User::ARTICLES.is_empty().and(User::REPORTS.is_empty());
        let favorites = db.table::<Favorite>().unwrap();
        assert_eq!(favorites.delete_where(Favorite::USER.has(idle.clone())).unwrap(), 1);
        // The table itself is in the subquery.
        assert_eq!(users.delete_where(idle).unwrap(), 1);
        assert_eq!(users.count(Query::all()).unwrap(), 2);
        let result = db.transaction(|transaction| {
            let articles = transaction.table::<Article>()?;
            articles.set(13, [Article::TITLE.set("e")])?;
            articles.count(Article::TAGS.any(Tag::NAME.eq("go")).and(Article::TITLE.eq("e")))
        });
        assert_eq!(result.unwrap(), 1);
    });
}

#[test]
fn shapes_hold_related_records() {
    on_each_filled(|db| {
        let articles = db.table::<Article>().unwrap();
        let views: Vec<ArticleView> = articles.load(Query::all(), &1).unwrap();
        let user = |id, name: &str, boss_id| User { id, name: name.into(), boss_id };
        let bob = || Author { name: "bob".into(), boss: Some(user(1, "ada", None)) };
        let view = |id, title: &str, author, tags: &str, favorites, favorited| ArticleView {
            title: title.into(),
            author,
            tags: tags.split_whitespace().map(Into::into).collect(),
            favorites,
            favorited,
            id,
        };
        let ada = Author { name: "ada".into(), boss: None };
        let expected = [
            view(10, "a", bob(), "rust sql", 2, true),
            view(11, "b", bob(), "rust", 0, false),
            view(12, "c", bob(), "", 0, false),
            view(13, "d", ada, "go", 1, false),
        ];
        assert_eq!(views, expected);
        assert_eq!(articles.load_one::<ArticleView>(12, &1).unwrap().as_ref(), Some(&expected[2]));
        assert_eq!(articles.load_one::<ArticleView>(99, &1).unwrap(), None);
        let page = Query::filter(Article::TAGS.exists()).order_by(Article::TITLE.desc()).limit(1);
        assert_eq!(articles.load::<ArticleView>(page, &2).unwrap()[0].title, "d");
        let none: Vec<ArticleView> = articles.load(Article::ID.eq(0), &1).unwrap();
        assert_eq!(none, []);
    });
}

#[test]
fn shapes_nest_with_limits_for_each_record() {
    on_each_filled(|db| {
        let users = db.table::<User>().unwrap();
        let pages: Vec<UserPage> = users.load(Query::all(), &(2, 3)).unwrap();
        let seen: Vec<_> = pages
            .iter()
            .map(|page| {
                let latest: String = page.latest.iter().map(|view| view.title.as_str()).collect();
                let tags: Vec<&str> = page.tags.iter().map(|tag| tag.name.as_str()).collect();
                (page.called.as_str(), latest, tags.join(" "), page.tag_count)
            })
            .collect();
        // The tag "rust" is related by two articles, and counts once.
        let expected = [("ada", "d", "", 1), ("bob", "cb", "rust sql", 2), ("cy", "", "", 0)];
        let expected = expected.map(|(a, b, c, d)| (a, b.to_owned(), c.to_owned(), d));
        assert_eq!(seen, expected);
        let transaction = db.begin().unwrap();
        let users = transaction.table::<User>().unwrap();
        users.update(&User { id: 3, name: "dee".into(), boss_id: None }).unwrap();
        let pages: Vec<UserPage> = users.load(User::ID.eq(3), &(0, 0)).unwrap();
        assert_eq!(pages[0].called, "dee");
    });
}

#[test]
fn shapes_and_filters_cross_engines() {
    #[derive(Shape)]
    #[shape(of = Article)]
    struct Tagged {
        title: String,
        #[shape(many = Article::SIDE_TAGS, select = SideTag::NAME, order_by = SideTag::NAME.desc())]
        tags: Vec<String>,
        #[shape(count = Article::SIDE_TAGS)]
        count: u64,
        #[shape(many = Article::SIDE_TAGGINGS, order_by = SideTagging::TAG_ID.desc(), limit = 1)]
        last: Vec<SideTagging>,
    }
    for (main, side) in [("sqlite::memory:", "memory:"), ("memory:", "sqlite::memory:")] {
        let builder = model().attach("side", side);
        let builder = builder.record_on::<SideTag>("side").record_on::<SideTagging>("side");
        let db = builder.open(main).unwrap();
        db.create_missing_tables().unwrap();
        fill(&db);
        for (id, name) in [(1, "x"), (2, "y")] {
            db.table().unwrap().insert(&SideTag { id, name: name.into() }).unwrap();
        }
        for (article_id, tag_id) in [(10, 1), (10, 2), (12, 2)] {
            db.table().unwrap().insert(&SideTagging { id: 0, article_id, tag_id }).unwrap();
        }
        assert_eq!(titles(&db, Article::SIDE_TAGS.any(SideTag::NAME.eq("y"))), "ac");
        assert_eq!(titles(&db, Article::SIDE_TAGS.is_empty()), "bd");
        // There and back: articles that share a tag with another one.
        let shared = SideTag::ARTICLES.any(Article::TITLE.eq("c"));
        assert_eq!(titles(&db, Article::SIDE_TAGS.any(shared)), "ac");
        let tagged: Vec<Tagged> = db.table::<Article>().unwrap().load(Query::all(), &()).unwrap();
        let seen: Vec<_> =
            tagged.iter().map(|one| (one.title.as_str(), one.tags.join(""), one.count)).collect();
        let expected = [("a", "yx", 2), ("b", "", 0), ("c", "y", 1), ("d", "", 0)];
        assert_eq!(seen, expected.map(|(title, tags, count)| (title, tags.to_owned(), count)));
        let last = |one: &Tagged| one.last.iter().map(|link| link.tag_id).collect::<Vec<_>>();
        assert_eq!(tagged.iter().map(last).collect::<Vec<_>>(), [vec![2], vec![], vec![2], vec![]]);
    }
}

/// Counts the queries and joins that reach an engine.
pub struct Counted {
    pub inner: Arc<dyn Engine>,
    pub queries: Arc<AtomicU64>,
}

struct CountedSession<'a> {
    inner: Box<dyn Session + 'a>,
    queries: &'a AtomicU64,
}

impl EngineLayer for Counted {
    fn inner(&self) -> &dyn Engine {
        &*self.inner
    }

    fn session(&self) -> bobak::Result<Box<dyn Session + '_>> {
        Ok(Box::new(CountedSession { inner: self.inner.session()?, queries: &self.queries }))
    }
}

impl SessionLayer for CountedSession<'_> {
    fn inner(&self) -> &(dyn Session + '_) {
        &*self.inner
    }

    fn query(
        &self,
        source: &Source<'_>,
        row: &mut dyn FnMut(&dyn Row) -> bobak::Result<bool>,
    ) -> bobak::Result<()> {
        self.queries.fetch_add(1, Ordering::Relaxed);
        self.inner.query(source, row)
    }

    fn join(
        &self,
        join: &Join,
        row: &mut dyn FnMut(&dyn Row) -> bobak::Result<bool>,
    ) -> bobak::Result<bool> {
        let has_run = self.inner.join(join, row)?;
        self.queries.fetch_add(u64::from(has_run), Ordering::Relaxed);
        Ok(has_run)
    }
}

#[test]
fn the_number_of_queries_depends_on_the_shape_alone() {
    let queries = Arc::new(AtomicU64::new(0));
    for (url, loads, filters) in [("sqlite::memory:", 4, 1), ("memory:", 7, 3)] {
        let inner = bobak::engine::open(url).unwrap();
        let db = model().open_engine(Counted { inner, queries: Arc::clone(&queries) }).unwrap();
        db.create_missing_tables().unwrap();
        fill(&db);
        let mut rows = db.table::<Article>().unwrap();
        let links = db.table::<ArticleTag>().unwrap();
        for (count, title) in [(4, "f"), (1_004, "g")] {
            let counted = |run: &dyn Fn()| {
                queries.store(0, Ordering::Relaxed);
                run();
                queries.load(Ordering::Relaxed)
            };
            // Articles, authors, bosses, links, tags, favorites, own favorites: SQLite joins the first three, and the next two.
            let loaded = counted(&|| {
                let views: Vec<ArticleView> = rows.load(Query::all(), &1).unwrap();
                assert_eq!(views.len(), count);
                let last = &views[count - 1];
                assert_eq!(
                    (last.tags.len(), last.author.name.as_str()),
                    (1, if count == 4 { "ada" } else { "bob" })
                );
            });
            assert_eq!(loaded, loads, "{url}");
            let filtered = counted(&|| {
                rows.count(Article::TAGS.any(Tag::NAME.eq("rust"))).unwrap();
            });
            assert_eq!(filtered, filters, "{url}");
            rows = db.table::<Article>().unwrap();
            for id in 100..1_100 {
                if count == 4 {
                    let article = Article { id, title: title.into(), author_id: 2, draft: None };
                    rows.insert(&article).unwrap();
                    links.insert(&ArticleTag { article_id: id, tag: "go".into() }).unwrap();
                }
            }
        }
    }
}

#[test]
fn mistakes_are_named() {
    #[derive(Shape, Debug)]
    #[shape(of = User)]
    #[allow(dead_code)]
    struct OneArticle {
        #[shape(one = User::ARTICLES)]
        article: Option<Article>,
    }
    #[derive(Shape)]
    #[shape(of = User)]
    #[allow(dead_code)]
    struct LatestArticle {
        #[shape(one = User::ARTICLES, order_by = Article::ID.desc(), limit = 1)]
        article: Option<Article>,
    }
    on_each_filled(|db| {
        let users = db.table::<User>().unwrap();
        let error = users.load::<OneArticle>(Query::all(), &()).unwrap_err();
        assert_eq!((error.kind(), error.table()), (ErrorKind::Mismatch, Some("article")));
        assert!(
            error.message().contains("`article` holds one record, but 3 are related"),
            "{error}"
        );
        let latest = users.load::<LatestArticle>(Query::all(), &()).unwrap();
        assert_eq!(latest[1].article.as_ref().unwrap().title, "c");
        assert!(latest[2].article.is_none());
    });
    // Without foreign keys a reference may lead nowhere.
    let db = Db::open("sqlite::memory:").unwrap();
    db.execute(
        "CREATE TABLE user (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, boss_id INTEGER)",
        (),
    )
    .unwrap();
    db.execute(
        "CREATE TABLE article (id INTEGER PRIMARY KEY, title TEXT NOT NULL, author_id INTEGER NOT NULL, draft INTEGER)",
        (),
    )
    .unwrap();
    db.execute("INSERT INTO article VALUES (1, 'lost', 7, NULL)", ()).unwrap();
    #[derive(Shape, Debug)]
    #[shape(of = Article)]
    #[allow(dead_code)]
    struct Authored {
        #[shape(one = Article::AUTHOR)]
        author: User,
    }
    let error = db.table::<Article>().unwrap().load::<Authored>(Query::all(), &()).unwrap_err();
    assert_eq!((error.kind(), error.table()), (ErrorKind::NotFound, Some("user")));
    assert!(error.message().contains("the field `author`"), "{error}");
    // A table that is not there.
    let error = db.table::<Article>().unwrap().count(Article::TAGS.exists()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Schema, "{error}");
}
