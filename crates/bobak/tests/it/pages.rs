//! Pages of records and shapes, and the tokens between them.

use crate::relations::{Article, ArticleView, User, on_each_filled};
use bobak::prelude::*;
use bobak::query::{PageRequest, PageToken};

#[test]
fn pages_follow_each_other_in_any_order() {
    on_each_filled(|db| {
        let articles = db.table::<Article>().unwrap();
        for id in 20..31 {
            let draft = [None, Some(false), Some(true)][id as usize % 3];
            let article = Article { id, title: format!("t{}", id % 4), author_id: 2, draft };
            articles.insert(&article).unwrap();
        }
        let orders = [
            Query::all(),
            Query::all().order_by(Article::DRAFT.asc()),
            Query::all().order_by(Article::DRAFT.desc()).order_by(Article::TITLE.asc()),
            Query::all().order_by(Article::TITLE.desc()).order_by(Article::DRAFT.asc()),
            Query::all().order_by(Article::ID.desc()),
            Query::filter(Article::AUTHOR.has(User::NAME.eq("bob"))).order_by(Article::TITLE.asc()),
        ];
        for query in orders {
            let all = articles.list(query.clone()).unwrap();
            for size in [1, 4, 14, 15, 16, 100] {
                let (mut found, mut token) = (Vec::new(), None);
                loop {
                    let request = PageRequest::size(size).after(token).with_total();
                    let page = articles.page::<Article>(query.clone(), &(), request).unwrap();
                    assert_eq!(page.total, Some(all.len() as u64));
                    found.extend(page.items);
                    // A token goes through a client as text.
                    token = page.next.map(|next| next.to_string().parse().unwrap());
                    if token.is_none() {
                        break;
                    }
                    assert_eq!(found.len() as u64 % size, 0);
                }
                assert_eq!(found, all, "pages of {size}");
            }
        }
        let page = articles
            .page::<ArticleView>(
                Query::all().order_by(Article::TITLE.desc()),
                &1,
                PageRequest::size(2),
            )
            .unwrap();
        assert_eq!((page.items[1].author.name.as_str(), page.total), ("bob", None));
        // A row that is inserted before the place does not move the rows behind it.
        let first = articles.page::<Article>(Query::all(), &(), PageRequest::size(2)).unwrap();
        articles
            .insert(&Article { id: 1, title: "new".into(), author_id: 2, draft: None })
            .unwrap();
        let request = PageRequest::size(1).after(first.next.clone());
        let second = articles.page::<Article>(Query::all(), &(), request).unwrap();
        assert_eq!(second.items[0].id, 12);
        let request = |text: &str| PageRequest::size(1).after(text.parse::<PageToken>().unwrap());
        let mistakes = [
            (Query::all().order_by(Article::TITLE.asc()), PageRequest::size(1).after(first.next)),
            (Query::all(), request("00")),
            (Query::all(), request("")),
            (Query::all(), request("ffff")),
        ];
        for (query, request) in mistakes {
            let error = articles.page::<Article>(query, &(), request).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
        }
        for query in [Query::all().limit(3), Query::all().offset(1)] {
            let error = articles.page::<Article>(query, &(), PageRequest::size(1)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        }
        for text in ["0", "0g", "é"] {
            assert_eq!(text.parse::<PageToken>().unwrap_err().kind(), ErrorKind::Mismatch);
        }
    });
}

#[cfg(feature = "async")]
#[test]
fn shapes_and_pages_are_loaded_async() {
    on_each_filled(|db| {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let articles = bobak::aio::AsyncDb::new(db.clone()).unwrap().table::<Article>();
        runtime.block_on(async {
            let query = || Query::all().order_by(Article::TITLE.desc());
            let views: Vec<ArticleView> = articles.load(query(), 1).await.unwrap();
            let first =
                articles.page::<ArticleView>(query(), 1, PageRequest::size(3)).await.unwrap();
            assert_eq!(first.items, views[..3]);
            let rest = PageRequest::size(3).after(first.next);
            let second = articles.page::<ArticleView>(query(), 1, rest).await.unwrap();
            assert_eq!(second.items, views[3..]);
            let one = articles.load_one::<ArticleView>(13, 1).await.unwrap();
            assert_eq!(one.as_ref(), views.first());
        });
    });
}

#[derive(Record, Debug)]
struct Word {
    #[record(key)]
    text: String,
    rank: i64,
}

/// Keys that are NULL, as other programs can write them to SQLite files, do not end the pages silently.
#[test]
fn pages_do_not_end_before_null_keys() {
    let db = Db::builder().record::<Word>().open("sqlite::memory:").unwrap();
    db.execute("CREATE TABLE word (text TEXT PRIMARY KEY, rank INTEGER NOT NULL)", ()).unwrap();
    db.execute("INSERT INTO word VALUES ('a', 1), ('b', 2), (NULL, 3)", ()).unwrap();
    let words = db.table::<Word>().unwrap();
    let error = words.list(Query::all()).unwrap_err();
    assert!(error.message().ends_with("(in the row with text NULL)"), "{error}");
    let page = |query: &Query<Word>, token| {
        words.page::<Word>(query.clone(), &(), PageRequest::size(1).after(token))
    };
    let descending = Query::all().order_by(Word::TEXT.desc());
    let first = page(&descending, None).unwrap();
    let second = page(&descending, first.next).unwrap();
    assert_eq!((second.items[0].text.as_str(), second.items[0].rank), ("a", 1));
    let error = page(&descending, second.next).unwrap_err();
    assert_eq!((error.kind(), error.column()), (ErrorKind::Mismatch, Some("text")));
    assert_eq!(page(&Query::all(), None).unwrap_err().kind(), ErrorKind::Mismatch);
}
