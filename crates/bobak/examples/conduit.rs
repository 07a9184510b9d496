//! The latest articles of a blog with authors, tags and favorites, as one reader sees them: two statements a page.
//!
//! `cargo run -p bobak --example conduit`

use bobak::Shape;
use bobak::prelude::*;
use bobak::query::{Filter, Page, PageRequest};
use bobak::relation::ToMany;

#[derive(Record, Debug, PartialEq)]
pub(crate) struct User {
    pub(crate) id: i64,
    #[record(unique)]
    pub(crate) name: String,
}

#[derive(Record, Debug, PartialEq)]
pub(crate) struct Follow {
    #[record(key, references = User, on_delete = "cascade")]
    pub(crate) reader_id: i64,
    #[record(key, references = User, on_delete = "cascade", index)]
    pub(crate) author_id: i64,
}

#[derive(Record, Debug, PartialEq)]
pub(crate) struct Article {
    pub(crate) id: i64,
    #[record(unique)]
    pub(crate) slug: String,
    #[record(references = User, index)]
    pub(crate) author_id: i64,
}

#[derive(Record, Debug, PartialEq)]
pub(crate) struct ArticleTag {
    #[record(key, references = Article, on_delete = "cascade")]
    pub(crate) article_id: i64,
    #[record(key, index)]
    pub(crate) tag: String,
}

#[derive(Record, Debug, PartialEq)]
pub(crate) struct Favorite {
    #[record(key, references = Article, on_delete = "cascade")]
    pub(crate) article_id: i64,
    #[record(key, references = User, on_delete = "cascade")]
    pub(crate) user_id: i64,
}

impl User {
    const READERS: ToMany<User, Follow> = Follow::AUTHOR.inverse();
}

impl Article {
    pub(crate) const FAVORITES: ToMany<Article, Favorite> = Favorite::ARTICLE.inverse();
    pub(crate) const TAGS: ToMany<Article, ArticleTag> = ArticleTag::ARTICLE.inverse();
}

/// A user as a reader sees them.
#[derive(Shape, Debug, PartialEq)]
#[shape(of = User, with(me: i64))]
pub(crate) struct ProfileView {
    pub(crate) name: String,
    #[shape(exists = User::READERS, filter = Follow::READER_ID.eq(me))]
    pub(crate) is_following: bool,
}

/// An article as a reader sees it.
#[derive(Shape, Debug, PartialEq)]
#[shape(of = Article, with(me: i64))]
pub(crate) struct ArticleView {
    pub(crate) slug: String,
    #[shape(one = Article::AUTHOR, with = me)]
    pub(crate) author: ProfileView,
    #[shape(many = Article::TAGS, select = ArticleTag::TAG)]
    pub(crate) tags: Vec<String>,
    #[shape(count = Article::FAVORITES)]
    pub(crate) favorites: u64,
    #[shape(exists = Article::FAVORITES, filter = Favorite::USER_ID.eq(me))]
    pub(crate) is_favorite: bool,
}

pub(crate) fn model() -> bobak::DbBuilder {
    let builder = Db::builder().record::<User>().record::<Follow>().record::<Article>();
    builder.record::<ArticleTag>().record::<Favorite>()
}

/// One page of the articles that match a filter, the latest first, as the user `me` sees them.
pub(crate) fn page(
    db: &Db,
    filter: Filter<Article>,
    me: i64,
    request: PageRequest,
) -> bobak::Result<Page<ArticleView>> {
    let latest = Query::filter(filter).order_by(Article::ID.desc());
    db.table::<Article>()?.page(latest, &me, request)
}

/// Stores three users and twelve articles.
pub(crate) fn fill(db: &Db) -> bobak::Result<()> {
    db.create_missing_tables()?;
    for (id, name) in [(1, "ada"), (2, "bob"), (3, "cy")] {
        db.table()?.insert(&User { id, name: name.into() })?;
    }
    db.table()?.insert(&Follow { reader_id: 1, author_id: 2 })?;
    for id in 1..=12 {
        db.table()?.insert(&Article {
            id,
            slug: format!("article-{id}"),
            author_id: id % 3 + 1,
        })?;
        for tag in ["rust", "sql"].iter().take((id % 3) as usize) {
            db.table()?.insert(&ArticleTag { article_id: id, tag: (*tag).into() })?;
        }
        for user_id in 1..=id % 4 {
            db.table()?.insert(&Favorite { article_id: id, user_id })?;
        }
    }
    Ok(())
}

fn main() -> bobak::Result<()> {
    let db = model().open("sqlite::memory:")?;
    fill(&db)?;
    let all = Article::ID.gt(0);
    let first = page(&db, all, 1, PageRequest::size(3).with_total())?;
    for view in &first.items {
        println!("{view:?}");
    }
    assert_eq!((first.items.len(), first.total), (3, Some(12)));

    let about_rust = Article::TAGS.any(ArticleTag::TAG.eq("rust"));
    let second = page(&db, about_rust, 1, PageRequest::size(5).after(first.next))?;
    assert_eq!(second.items.len(), 5);
    Ok(())
}
