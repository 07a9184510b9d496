//! The latest articles of a blog with authors, tags and favorites, as one reader sees them: three statements a page.
//!
//! `cargo run -p bobak --example conduit`

use bobak::prelude::*;
use bobak::query::{Filter, Page, PageRequest};
use bobak::relation::ToMany;
use std::collections::HashMap;

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

/// An article as a reader sees it.
#[derive(Debug, PartialEq)]
pub(crate) struct ArticleView {
    pub(crate) slug: String,
    pub(crate) author: String,
    pub(crate) is_following: bool,
    pub(crate) is_favorite: bool,
    pub(crate) favorites: i64,
    pub(crate) tags: Vec<String>,
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
    // One statement: the reader follows an author, and favors an article, once or not at all.
    let articles = Query::filter(filter)
        .order_by(Article::ID.desc())
        .join(Article::AUTHOR)
        .left_join_where(User::READERS, Follow::READER_ID.eq(me))
        .left_join_where(Article::FAVORITES, Favorite::USER_ID.eq(me));
    let found = db.page(&articles, request)?;
    let ids: Vec<i64> = found.items.iter().map(|(article, ..)| article.id).collect();

    let mut tags: HashMap<i64, Vec<String>> = HashMap::new();
    for link in db.table::<ArticleTag>()?.list(ArticleTag::ARTICLE_ID.is_in(ids.clone()))? {
        tags.entry(link.article_id).or_default().push(link.tag);
    }
    let favorites = Query::filter(Favorite::ARTICLE_ID.is_in(ids)).group_by(Favorite::ARTICLE_ID);
    let favorites: Vec<(i64, i64)> =
        db.table()?.select(favorites, (Favorite::ARTICLE_ID, count()))?;
    let favorites: HashMap<i64, i64> = favorites.into_iter().collect();

    type Found = (Article, User, Option<Follow>, Option<Favorite>);
    let view = |(article, author, follow, favorite): Found| ArticleView {
        slug: article.slug,
        author: author.name,
        is_following: follow.is_some(),
        is_favorite: favorite.is_some(),
        favorites: favorites.get(&article.id).copied().unwrap_or(0),
        tags: tags.remove(&article.id).unwrap_or_default(),
    };
    let items = found.items.into_iter().map(view).collect();
    Ok(Page { items, next: found.next, total: found.total })
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
