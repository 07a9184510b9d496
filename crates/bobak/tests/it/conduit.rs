//! The page of articles of the example `conduit`.

#[path = "../../examples/conduit.rs"]
#[allow(dead_code, reason = "its own main")]
mod example;

use crate::engines::on_each;
use crate::relations::Counted;
use bobak::prelude::*;
use bobak::query::PageRequest;
use example::{Article, ArticleTag, ArticleView, ProfileView, fill, model, page};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

fn check(db: &Db) {
    fill(db).unwrap();
    let seen = |view: &ArticleView| {
        let ArticleView { slug, author, is_favorite, favorites, tags } = view;
        let ProfileView { name: author, is_following } = author;
        let tags = tags.join(" ");
        format!("{slug} {author} {is_following} {is_favorite} {favorites} {tags}")
    };
    let all = || Article::ID.gt(0);
    let first = page(db, all(), 1, PageRequest::size(4).with_total()).unwrap();
    let expected = [
        "article-12 ada false false 0 ",
        "article-11 cy false true 3 rust sql",
        "article-10 bob true true 2 rust",
        "article-9 ada false true 1 ",
    ];
    assert_eq!(first.items.iter().map(seen).collect::<Vec<_>>(), expected);
    assert_eq!(first.total, Some(12));
    let second = page(db, all(), 2, PageRequest::size(20).after(first.next)).unwrap();
    assert_eq!(second.items.len(), 8);
    assert_eq!(seen(&second.items[0]), "article-8 cy false false 0 rust sql");
    assert_eq!(seen(&second.items[1]), "article-7 bob false true 3 rust");
    assert_eq!(second.next, None);
    let tagged = Article::TAGS.any(ArticleTag::TAG.eq("sql"));
    let tagged = page(db, tagged, 3, PageRequest::size(20)).unwrap();
    let slugs: Vec<_> = tagged.items.iter().map(|view| view.slug.as_str()).collect();
    assert_eq!(slugs, ["article-11", "article-8", "article-5", "article-2"]);
}

#[test]
fn a_page_is_the_same_on_each_engine() {
    on_each(|place| check(&model().open(&place.url).unwrap()));
}

#[cfg(all(feature = "mysql", feature = "postgres"))]
#[test]
fn a_page_is_the_same_on_servers() {
    crate::engines::on_servers(|url| check(&model().open(url).unwrap()));
}

#[test]
fn a_page_takes_two_statements() {
    let queries = Arc::new(AtomicU64::new(0));
    let inner = bobak::engine::open("sqlite::memory:").unwrap();
    let db = model().open_engine(Counted { inner, queries: Arc::clone(&queries) }).unwrap();
    fill(&db).unwrap();
    for (size, tag) in [(2, "rust"), (20, "sql")] {
        // The first use of a table checks its columns.
        page(&db, Article::ID.gt(0), 1, PageRequest::size(size)).unwrap();
        queries.store(0, Ordering::Relaxed);
        page(&db, Article::TAGS.any(ArticleTag::TAG.eq(tag)), 1, PageRequest::size(size)).unwrap();
        assert_eq!(queries.load(Ordering::Relaxed), 2);
    }
}
