//! The blog on Bobak.

use bobak::Shape;
use bobak::prelude::*;
use bobak::relation::ToMany;
use peers_common::{Blog, BlogSample, Outcome, run_blog};
use serde::Serialize;

#[derive(Record)]
struct User {
    #[record(key = "given")]
    id: i64,
    #[record(unique)]
    name: String,
}

#[derive(Record)]
struct Follow {
    #[record(key, references = User, on_delete = "cascade")]
    reader_id: i64,
    #[record(key, references = User, on_delete = "cascade", index)]
    author_id: i64,
}

#[derive(Record)]
struct Article {
    #[record(key = "given")]
    id: i64,
    #[record(unique)]
    slug: String,
    #[record(references = User, index)]
    author_id: i64,
}

#[derive(Record)]
struct ArticleTag {
    #[record(key, references = Article, on_delete = "cascade")]
    article_id: i64,
    #[record(key, index)]
    tag: String,
}

#[derive(Record)]
struct Favorite {
    #[record(key, references = Article, on_delete = "cascade")]
    article_id: i64,
    #[record(key, references = User, on_delete = "cascade")]
    user_id: i64,
}

impl User {
    const READERS: ToMany<User, Follow> = Follow::AUTHOR.inverse();
}

impl Article {
    const FAVORITES: ToMany<Article, Favorite> = Favorite::ARTICLE.inverse();
    const TAGS: ToMany<Article, ArticleTag> = ArticleTag::ARTICLE.inverse();
}

#[derive(Shape, Serialize)]
#[shape(of = User, with(me: i64))]
struct ProfileView {
    name: String,
    #[shape(exists = User::READERS, filter = Follow::READER_ID.eq(me))]
    is_following: bool,
}

#[derive(Shape, Serialize)]
#[shape(of = Article, with(me: i64))]
struct ArticleView {
    slug: String,
    #[shape(one = Article::AUTHOR, with = me)]
    author: ProfileView,
    #[shape(many = Article::TAGS, select = ArticleTag::TAG)]
    tags: Vec<String>,
    #[shape(count = Article::FAVORITES)]
    favorites: u64,
    #[shape(exists = Article::FAVORITES, filter = Favorite::USER_ID.eq(me))]
    is_favorite: bool,
}

struct BobakBlog(Db);

impl Blog for BobakBlog {
    fn open(url: &str) -> Outcome<Self> {
        let builder = Db::builder().record::<User>().record::<Follow>().record::<Article>();
        let db = builder.record::<ArticleTag>().record::<Favorite>().open(url)?;
        db.create_missing_tables()?;
        Ok(Self(db))
    }

    fn fill(&mut self, sample: &BlogSample) -> Outcome<()> {
        let mut batch = self.0.batch(BatchOptions::new().commit_every(0));
        for (id, name) in &sample.users {
            batch.insert(&User { id: *id, name: name.clone() })?;
        }
        for &(reader_id, author_id) in &sample.follows {
            batch.insert(&Follow { reader_id, author_id })?;
        }
        for (id, slug, author_id) in &sample.articles {
            batch.insert(&Article { id: *id, slug: slug.clone(), author_id: *author_id })?;
        }
        for (article_id, tag) in &sample.tags {
            batch.insert(&ArticleTag { article_id: *article_id, tag: tag.clone() })?;
        }
        for &(article_id, user_id) in &sample.favorites {
            batch.insert(&Favorite { article_id, user_id })?;
        }
        batch.finish()?;
        Ok(())
    }

    fn page(&mut self, tag: Option<&str>, me: i64) -> Outcome<impl Serialize> {
        let query = match tag {
            Some(tag) => Query::filter(Article::TAGS.any(ArticleTag::TAG.eq(tag))),
            None => Query::all(),
        };
        let latest = query.order_by(Article::ID.desc()).limit(20);
        Ok(self.0.table::<Article>()?.load::<ArticleView>(latest, &me)?)
    }
}

fn main() -> Outcome<()> {
    run_blog::<BobakBlog>()
}
