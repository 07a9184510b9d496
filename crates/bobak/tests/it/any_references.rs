//! References to a record of any of several types: two columns, typed relations in both directions.

use crate::engines::on_each;
use bobak::prelude::*;
use bobak::relation::{AnyReference, NestedRecord, ToMany, ToOne};
use bobak::{Filter, Shape};

#[derive(Record, Clone, Debug, PartialEq)]
struct Article {
    id: i64,
    title: String,
}

#[derive(Record, Clone, Debug, PartialEq)]
#[record(table = "picture")]
struct Photo {
    id: i64,
    file: String,
}

#[derive(AnyReference, Clone, Copy, Debug, PartialEq)]
enum Target {
    Article(i64),
    #[any(record = Photo)]
    Picture(i64),
}

#[derive(Record, Clone, Debug, PartialEq)]
struct Comment {
    id: i64,
    text: String,
    #[record(any)]
    target: Target,
    #[record(any)]
    source: Option<Target>,
}

impl Comment {
    const ARTICLE: ToOne<Comment, Article> = Comment::TARGET.to::<Article>();
    const PHOTO: ToOne<Comment, Photo> = Comment::TARGET.to::<Photo>();
}

impl Article {
    const COMMENTS: ToMany<Article, Comment> = Comment::ARTICLE.inverse();
}

impl Photo {
    const COMMENTS: ToMany<Photo, Comment> = Comment::PHOTO.inverse();
}

#[derive(Shape, Debug, PartialEq)]
#[shape(of = Comment)]
struct CommentPage {
    text: String,
    #[shape(one = Comment::ARTICLE)]
    article: Option<Article>,
    #[shape(one = Comment::PHOTO)]
    photo: Option<Photo>,
}

#[derive(Shape, Debug, PartialEq)]
#[shape(of = Article)]
struct ArticlePage {
    title: String,
    #[shape(many = Article::COMMENTS, select = Comment::TEXT)]
    comments: Vec<String>,
    #[shape(count = Article::COMMENTS)]
    count: u64,
}

fn comment(text: &str, target: Target) -> Comment {
    Comment { id: 0, text: text.into(), target, source: None }
}

/// Article 1 and photo 1 have the same key; so have article 2 and photo 2.
fn fill(db: &Db) {
    db.create_missing_tables().unwrap();
    assert!(db.create_missing_tables().unwrap().is_empty());
    for number in 1..=2 {
        db.table().unwrap().insert(&Article { id: 0, title: format!("article {number}") }).unwrap();
        db.table().unwrap().insert(&Photo { id: 0, file: format!("{number}.png") }).unwrap();
    }
    let comments = db.table::<Comment>().unwrap();
    comments.insert(&comment("a1", Target::Article(1))).unwrap();
    comments.insert(&comment("a1 too", Target::Article(1))).unwrap();
    comments.insert(&comment("p1", Target::Picture(1))).unwrap();
    let source = Some(Target::Article(2));
    comments.insert(&Comment { source, ..comment("p2", Target::Picture(2)) }).unwrap();
}

fn on_each_engine(test: impl Fn(&Db)) {
    let open = |url: &str| {
        let builder = Db::builder().record::<Article>().record::<Photo>().record::<Comment>();
        let db = builder.open(url).unwrap();
        fill(&db);
        test(&db);
    };
    on_each(|place| open(&place.url));
    let folder = tempfile::tempdir().unwrap();
    open(&format!("kv:{}", folder.path().join("app.kv").display()));
    crate::engines::on_bobak_server(bobak::engine::memory::Memory::new(), open);
    #[cfg(all(feature = "mysql", feature = "postgres"))]
    crate::engines::on_servers(open);
}

fn texts(db: &Db, filter: Filter<Comment>) -> Vec<String> {
    let found = db.table().unwrap().list(filter).unwrap();
    found.into_iter().map(|comment: Comment| comment.text).collect()
}

#[test]
fn references_are_written_read_and_filtered() {
    on_each_engine(|db| {
        let comments = db.table::<Comment>().unwrap();
        let last = comments.require(4).unwrap();
        assert_eq!((last.target, last.source), (Target::Picture(2), Some(Target::Article(2))));
        let names: Vec<_> =
            Comment::schema().columns().iter().map(|c| c.name.to_string()).collect();
        let wanted = ["id", "text", "target_table", "target_key", "source_table", "source_key"];
        assert_eq!(names, wanted);

        assert_eq!(texts(db, Comment::TARGET.eq(&Target::Article(1))), ["a1", "a1 too"]);
        assert_eq!(texts(db, Comment::TARGET.eq(&Target::Picture(1))), ["p1"]);
        assert_eq!(texts(db, Comment::TARGET.is::<Photo>()), ["p1", "p2"]);
        assert_eq!(texts(db, Comment::SOURCE.eq(&Some(Target::Article(2)))), ["p2"]);
        assert_eq!(texts(db, Comment::SOURCE.eq(&None)).len(), 3);
        assert_eq!(texts(db, Comment::SOURCE.is_null()).len(), 3);
        assert_eq!(texts(db, Comment::TARGET_TABLE.eq("picture")), ["p1", "p2"]);

        assert!(comments.set(1, Comment::TARGET.set(&Target::Picture(2))).unwrap());
        assert_eq!(comments.require(1).unwrap().target, Target::Picture(2));
        let mut first = comments.require(1).unwrap();
        first.source = Some(Target::Picture(1));
        comments.update(&mut first).unwrap();
        comments.get_into(1, &mut first).unwrap();
        assert_eq!(first.source, Some(Target::Picture(1)));

        unknown_tables(db);
    });
}

fn unknown_tables(db: &Db) {
    let changed = db.dynamic("comment").unwrap();
    let filter = changed.column("id").unwrap().eq(1);
    let tables = changed.column("target_table").unwrap();
    changed.set_where(filter, [tables.set("nowhere".to_owned())]).unwrap();
    let error = db.table::<Comment>().unwrap().get(1).unwrap_err();
    assert_eq!((error.kind(), error.column()), (ErrorKind::Mismatch, Some("target_table")));
    assert!(error.message().contains("article, picture"), "{error}");
}

#[test]
fn relations_lead_to_the_records_of_one_type() {
    on_each_engine(|db| {
        assert_eq!(
            texts(db, Comment::ARTICLE.has(Article::TITLE.eq("article 1"))),
            ["a1", "a1 too"]
        );
        assert_eq!(texts(db, Comment::PHOTO.has(Photo::FILE.eq("1.png"))), ["p1"]);
        let articles = db.table::<Article>().unwrap();
        assert_eq!(articles.list(Article::COMMENTS.exists()).unwrap().len(), 1);
        assert_eq!(articles.list(Article::COMMENTS.is_empty()).unwrap()[0].title, "article 2");
        let with_p2 = db.table().unwrap().list(Photo::COMMENTS.any(Comment::TEXT.eq("p2")));
        assert_eq!(with_p2.unwrap(), [Photo { id: 2, file: "2.png".into() }]);
        let first = articles.require(1).unwrap();
        assert_eq!(texts(db, Article::COMMENTS.of(&first)), ["a1", "a1 too"]);
        let p1 = db.table::<Comment>().unwrap().require(3).unwrap();
        assert!(articles.list(Comment::ARTICLE.as_many().of(&p1)).unwrap().is_empty());

        shapes(db);
    });
}

fn shapes(db: &Db) {
    let pages = db.table().unwrap().load::<CommentPage>(Query::all(), &()).unwrap();
    let found = |page: &CommentPage| {
        (page.article.as_ref().map(|a| a.id), page.photo.as_ref().map(|p| p.id))
    };
    let wanted = [(Some(1), None), (Some(1), None), (None, Some(1)), (None, Some(2))];
    assert_eq!(pages.iter().map(found).collect::<Vec<_>>(), wanted);
    let page = |title: &str, comments: &[&str]| ArticlePage {
        title: title.into(),
        comments: comments.iter().map(|&text| text.into()).collect(),
        count: comments.len() as u64,
    };
    let pages = db.table().unwrap().load::<ArticlePage>(Query::all(), &()).unwrap();
    assert_eq!(pages, [page("article 1", &["a1", "a1 too"]), page("article 2", &[])]);
}

#[test]
fn joins_and_nested_writes() {
    on_each_engine(|db| {
        let joined = db.list(&Query::<Comment>::all().join(Comment::PHOTO)).unwrap();
        let found: Vec<_> = joined.iter().map(|(c, p)| (c.text.as_str(), p.id)).collect();
        assert_eq!(found, [("p1", 1), ("p2", 2)]);
        let joined = db.list(&Query::<Article>::all().left_join(Article::COMMENTS)).unwrap();
        let found = joined.iter().map(|(a, c)| (a.id, c.as_ref().map(|c| c.text.as_str())));
        let wanted = [(1, Some("a1")), (1, Some("a1 too")), (2, None)];
        assert_eq!(found.collect::<Vec<_>>(), wanted);
        let error = db.list(&Query::<Comment>::all().left_join(Comment::PHOTO)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);

        // The variant of a new child does not matter.
        let photo = NestedRecord::new(Photo { id: 0, file: "3.png".into() });
        let photo = photo.with(Photo::COMMENTS, [comment("p3", Target::Article(0))]);
        let id = db.table::<Photo>().unwrap().insert_nested(photo).unwrap();
        assert_eq!(texts(db, Comment::TARGET.eq(&Target::Picture(id))), ["p3"]);
    });
}

/// Nothing in the database checks such references: hooks do, in the transaction of the write.
#[test]
fn hooks_keep_references_intact() {
    let db = Db::builder()
        .record::<Article>()
        .record::<Photo>()
        .before_insert(|transaction, comment: &mut Comment| {
            let exists = match comment.target {
                Target::Article(id) => transaction.table::<Article>()?.exists(id)?,
                Target::Picture(id) => transaction.table::<Photo>()?.exists(id)?,
            };
            match exists {
                true => Ok(()),
                false => Err(Error::new(ErrorKind::Constraint, "there is no such record")),
            }
        })
        .before_delete(|transaction, article: &Article| {
            let comments = transaction.table::<Comment>()?;
            comments.delete_where(Article::COMMENTS.of(article)).map(drop)
        })
        .open("sqlite::memory:")
        .unwrap();
    fill(&db);
    let comments = db.table::<Comment>().unwrap();
    let error = comments.insert(&comment("a9", Target::Article(9))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Constraint);
    assert!(db.table::<Article>().unwrap().delete(1).unwrap());
    assert_eq!(texts(&db, Comment::TARGET.is::<Article>()), [""; 0]);
    assert_eq!(comments.count(Query::all()).unwrap(), 2);
}
