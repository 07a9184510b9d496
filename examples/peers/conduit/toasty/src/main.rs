//! The blog on toasty.

use peers_common::{Blog, BlogSample, Outcome, run_blog};
use serde::Serialize;
use std::collections::HashSet;
use toasty::Deferred;
use tokio::runtime::{Builder, Runtime};

/// The rows of one statement: databases have a maximum number of parameters.
const ROWS: usize = 1_000;

#[derive(Debug, toasty::Model)]
struct User {
    #[key]
    id: i64,
    #[unique]
    name: String,
}

#[derive(Debug, toasty::Model)]
#[key(partition = reader_id, local = author_id)]
struct Follow {
    reader_id: i64,
    #[index]
    author_id: i64,
}

#[derive(Debug, toasty::Model)]
struct Article {
    #[key]
    id: i64,
    #[unique]
    slug: String,
    #[index]
    author_id: i64,
    #[belongs_to(key = author_id, references = id)]
    author: Deferred<User>,
    #[has_many]
    tags: Deferred<Vec<ArticleTag>>,
    #[has_many]
    favorites: Deferred<Vec<Favorite>>,
}

#[derive(Debug, toasty::Model)]
#[key(partition = article_id, local = tag)]
struct ArticleTag {
    article_id: i64,
    #[index]
    tag: String,
    #[belongs_to(key = article_id, references = id)]
    article: Deferred<Article>,
}

#[derive(Debug, toasty::Model)]
#[key(partition = article_id, local = user_id)]
struct Favorite {
    article_id: i64,
    user_id: i64,
    #[belongs_to(key = article_id, references = id)]
    article: Deferred<Article>,
}

#[derive(Serialize)]
struct ProfileView {
    name: String,
    is_following: bool,
}

#[derive(Serialize)]
struct ArticleView {
    slug: String,
    author: ProfileView,
    tags: Vec<String>,
    favorites: usize,
    is_favorite: bool,
}

impl ArticleView {
    fn new(article: &Article, following: &HashSet<i64>, me: i64) -> Self {
        let mut tags: Vec<_> = article.tags.get().iter().map(|tag| tag.tag.clone()).collect();
        tags.sort();
        let name = article.author.get().name.clone();
        let favorites = article.favorites.get();
        Self {
            slug: article.slug.clone(),
            author: ProfileView { name, is_following: following.contains(&article.author_id) },
            tags,
            favorites: favorites.len(),
            is_favorite: favorites.iter().any(|favorite| favorite.user_id == me),
        }
    }
}

struct ToastyBlog {
    runtime: Runtime,
    db: toasty::Db,
}

impl Blog for ToastyBlog {
    fn open(url: &str) -> Outcome<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let db = runtime.block_on(async {
            let models = toasty::models!(User, Follow, Article, ArticleTag, Favorite);
            let db = toasty::Db::builder().models(models).connect(url).await?;
            db.push_schema().await?;
            Ok::<_, toasty::Error>(db)
        })?;
        Ok(Self { runtime, db })
    }

    fn fill(&mut self, sample: &BlogSample) -> Outcome<()> {
        self.runtime.block_on(async {
            let mut transaction = self.db.transaction().await?;
            for part in sample.users.chunks(ROWS) {
                let rows = part.iter().map(|(id, name)| User::create().id(*id).name(name));
                rows.fold(User::create_many(), |many, row| many.item(row))
                    .exec(&mut transaction)
                    .await?;
            }
            for part in sample.follows.chunks(ROWS) {
                let rows = part
                    .iter()
                    .map(|(reader, author)| Follow::create().reader_id(*reader).author_id(*author));
                rows.fold(Follow::create_many(), |many, row| many.item(row))
                    .exec(&mut transaction)
                    .await?;
            }
            for part in sample.articles.chunks(ROWS) {
                let rows = part.iter().map(|(id, slug, author)| {
                    Article::create().id(*id).slug(slug).author_id(*author)
                });
                rows.fold(Article::create_many(), |many, row| many.item(row))
                    .exec(&mut transaction)
                    .await?;
            }
            for part in sample.tags.chunks(ROWS) {
                let rows = part
                    .iter()
                    .map(|(article, tag)| ArticleTag::create().article_id(*article).tag(tag));
                rows.fold(ArticleTag::create_many(), |many, row| many.item(row))
                    .exec(&mut transaction)
                    .await?;
            }
            for part in sample.favorites.chunks(ROWS) {
                let rows = part
                    .iter()
                    .map(|(article, user)| Favorite::create().article_id(*article).user_id(*user));
                rows.fold(Favorite::create_many(), |many, row| many.item(row))
                    .exec(&mut transaction)
                    .await?;
            }
            transaction.commit().await
        })?;
        Ok(())
    }

    fn page(&mut self, tag: Option<&str>, me: i64) -> Outcome<impl Serialize> {
        let page = self.runtime.block_on(async {
            let query = match tag {
                Some(tag) => Article::filter(
                    Article::fields().tags().any(ArticleTag::fields().tag().eq(tag)),
                ),
                None => Article::all(),
            };
            let articles = query
                .order_by(Article::fields().id().desc())
                .limit(20)
                .include(Article::fields().author())
                .include(Article::fields().tags())
                .include(Article::fields().favorites())
                .exec(&mut self.db)
                .await?;
            let authors: Vec<i64> = articles.iter().map(|article| article.author_id).collect();
            let follows = Follow::filter(
                Follow::fields()
                    .reader_id()
                    .eq(me)
                    .and(Follow::fields().author_id().in_list(authors)),
            );
            let follows = follows.exec(&mut self.db).await?;
            let following = follows.iter().map(|follow| follow.author_id).collect();
            let view = |article: &Article| ArticleView::new(article, &following, me);
            Ok::<_, toasty::Error>(articles.iter().map(view).collect::<Vec<_>>())
        })?;
        Ok(page)
    }
}

fn main() -> Outcome<()> {
    run_blog::<ToastyBlog>()
}
