//! The blog on SeaORM.

mod model;

use model::*;
use peers_common::{Blog, BlogSample, Outcome, run_blog};
use sea_orm::entity::prelude::*;
use sea_orm::{
    Database, EntityLoaderTrait, QueryOrder, QuerySelect, QueryTrait, Set, TransactionTrait,
};
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use tokio::runtime::{Builder, Runtime};

/// The rows of one statement: databases have a maximum number of parameters.
const ROWS: usize = 5_000;

struct SeaBlog {
    runtime: Runtime,
    db: DatabaseConnection,
}

impl Blog for SeaBlog {
    fn open(url: &str) -> Outcome<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let db = runtime.block_on(async {
            let mut options = sea_orm::ConnectOptions::new(url);
            options
                .sqlx_logging(false)
                .map_sqlx_sqlite_opts(|options| options.create_if_missing(true));
            let db = Database::connect(options).await?;
            db.get_schema_builder()
                .register(user::Entity)
                .register(follow::Entity)
                .register(article::Entity)
                .register(article_tag::Entity)
                .register(favorite::Entity)
                .apply(&db)
                .await?;
            Ok::<_, DbErr>(db)
        })?;
        Ok(Self { runtime, db })
    }

    fn fill(&mut self, sample: &BlogSample) -> Outcome<()> {
        let users = sample
            .users
            .iter()
            .map(|(id, name)| user::ActiveModel { id: Set(*id), name: Set(name.clone()) });
        let follows: Vec<_> = (sample.follows.iter())
            .map(|&(reader_id, author_id)| follow::ActiveModel {
                reader_id: Set(reader_id),
                author_id: Set(author_id),
            })
            .collect();
        let articles: Vec<_> = (sample.articles.iter())
            .map(|(id, slug, author_id)| article::ActiveModel {
                id: Set(*id),
                slug: Set(slug.clone()),
                author_id: Set(*author_id),
            })
            .collect();
        let tags: Vec<_> = (sample.tags.iter())
            .map(|(article_id, tag)| article_tag::ActiveModel {
                article_id: Set(*article_id),
                tag: Set(tag.clone()),
            })
            .collect();
        let favorites: Vec<_> = (sample.favorites.iter())
            .map(|&(article_id, user_id)| favorite::ActiveModel {
                article_id: Set(article_id),
                user_id: Set(user_id),
            })
            .collect();
        self.runtime.block_on(async {
            let transaction = self.db.begin().await?;
            user::Entity::insert_many(users).exec(&transaction).await?;
            for part in follows.chunks(ROWS) {
                follow::Entity::insert_many(part.iter().cloned()).exec(&transaction).await?;
            }
            for part in articles.chunks(ROWS) {
                article::Entity::insert_many(part.iter().cloned()).exec(&transaction).await?;
            }
            for part in tags.chunks(ROWS) {
                article_tag::Entity::insert_many(part.iter().cloned()).exec(&transaction).await?;
            }
            for part in favorites.chunks(ROWS) {
                favorite::Entity::insert_many(part.iter().cloned()).exec(&transaction).await?;
            }
            transaction.commit().await
        })?;
        Ok(())
    }

    fn page(&mut self, tag: Option<&str>, me: i64) -> Outcome<impl Serialize> {
        let page = self.runtime.block_on(async {
            let mut query = article::Entity::load()
                .with(user::Entity)
                .with(article_tag::Entity)
                .order_by_desc(article::Column::Id);
            if let Some(tag) = tag {
                let tagged = article_tag::Entity::find()
                    .select_only()
                    .column(article_tag::Column::ArticleId)
                    .filter(article_tag::Column::Tag.eq(tag))
                    .into_query();
                query = query.filter(article::Column::Id.in_subquery(tagged));
            }
            let articles = query.paginate(&self.db, 20).fetch_page(0).await?;
            let keys: Vec<i64> = articles.iter().map(|article| article.id).collect();
            let counts: Vec<(i64, i64)> = favorite::Entity::find()
                .select_only()
                .column(favorite::Column::ArticleId)
                .column_as(favorite::Column::UserId.count(), "favorites")
                .filter(favorite::Column::ArticleId.is_in(keys.iter().copied()))
                .group_by(favorite::Column::ArticleId)
                .into_tuple()
                .all(&self.db)
                .await?;
            let own: Vec<i64> = favorite::Entity::find()
                .select_only()
                .column(favorite::Column::ArticleId)
                .filter(favorite::Column::ArticleId.is_in(keys))
                .filter(favorite::Column::UserId.eq(me))
                .into_tuple()
                .all(&self.db)
                .await?;
            let authors = articles.iter().map(|article| article.author_id);
            let follows: Vec<i64> = follow::Entity::find()
                .select_only()
                .column(follow::Column::AuthorId)
                .filter(follow::Column::ReaderId.eq(me))
                .filter(follow::Column::AuthorId.is_in(authors))
                .into_tuple()
                .all(&self.db)
                .await?;
            let counts: HashMap<i64, i64> = counts.into_iter().collect();
            let (own, follows): (HashSet<i64>, HashSet<i64>) =
                (own.into_iter().collect(), follows.into_iter().collect());
            let view = |article: article::ModelEx| {
                let mut tags: Vec<_> = article.tags.into_iter().map(|tag| tag.tag).collect();
                tags.sort();
                let author = article.author.into_option()?;
                let is_following = follows.contains(&article.author_id);
                Some(ArticleView {
                    slug: article.slug,
                    author: ProfileView { name: author.name, is_following },
                    tags,
                    favorites: counts.get(&article.id).copied().unwrap_or(0),
                    is_favorite: own.contains(&article.id),
                })
            };
            Ok::<_, DbErr>(articles.into_iter().filter_map(view).collect::<Vec<_>>())
        })?;
        Ok(page)
    }
}

fn main() -> Outcome<()> {
    run_blog::<SeaBlog>()
}
