//! The blog of the comparison: a page of articles as one reader sees them.

use crate::{Outcome, serve, timed};
use serde::Serialize;

/// The rows that all blogs store; keys are given.
pub struct BlogSample {
    /// `id` and `name`.
    pub users: Vec<(i64, String)>,
    /// `reader_id` and `author_id`.
    pub follows: Vec<(i64, i64)>,
    /// `id`, `slug` and `author_id`.
    pub articles: Vec<(i64, String, i64)>,
    /// `article_id` and `tag`.
    pub tags: Vec<(i64, String)>,
    /// `article_id` and `user_id`.
    pub favorites: Vec<(i64, i64)>,
}

const USERS: i64 = 1_000;
const ARTICLES: i64 = 10_000;
const TAGS: i64 = 20;

impl BlogSample {
    fn new() -> Self {
        let spread = |number: i64, step: i64| (number * step) % USERS + 1;
        let users = (1..=USERS).map(|id| (id, format!("user-{id}")));
        let follows = (1..=USERS).flat_map(|reader| {
            (0..10).map(move |number| (reader, spread(reader + 97 * number, 7)))
        });
        let articles = (1..=ARTICLES).map(|id| (id, format!("article-{id}"), spread(id, 37)));
        let tags = (1..=ARTICLES).flat_map(|id| {
            (0..id % 4).map(move |number| (id, format!("tag-{}", (id + 3 * number) % TAGS)))
        });
        let favorites = (1..=ARTICLES)
            .flat_map(|id| (0..id % 8).map(move |number| (id, spread(id + 11 * number, 13))));
        Self {
            users: users.collect(),
            follows: follows.collect(),
            articles: articles.collect(),
            tags: tags.collect(),
            favorites: favorites.collect(),
        }
    }
}

/// The use cases of the blog.
pub trait Blog: Sized {
    /// Opens an empty database, and creates the tables.
    fn open(url: &str) -> Outcome<Self>;

    /// Stores the sample.
    fn fill(&mut self, sample: &BlogSample) -> Outcome<()>;

    /// The 20 latest articles, the latest first, all or those with a tag, as the user `me` sees them. Each has `slug`, `author`
    /// with `name` and `is_following`, `tags` (sorted), `favorites` (their number) and `is_favorite`.
    fn page(&mut self, tag: Option<&str>, me: i64) -> Outcome<impl Serialize>;
}

/// Runs a blog, as [`run`](crate::run) runs a shop.
pub fn run_blog<B: Blog>() -> Outcome<()> {
    let url = std::env::args().nth(1).ok_or("usage: blog URL")?;
    let mut blog = B::open(&url)?;
    serve(|case, round| {
        let me = (round * 31 % 1_000 + 1).cast_signed();
        match case {
            "fill" => {
                let sample = BlogSample::new();
                timed(|| blog.fill(&sample))
            }
            "latest articles" => timed(|| blog.page(None, me)),
            "articles with a tag" => {
                let tag = format!("tag-{}", round % 20);
                timed(|| blog.page(Some(&tag), me))
            }
            _ => Err(format!("there is no use case {case}").into()),
        }
    })
}
