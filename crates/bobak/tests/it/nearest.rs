//! Vectors and the nearest records through the facade.

use bobak::nearest::{Distance, Metric};
use bobak::prelude::*;
use bobak::{NearestRecord, count};

#[derive(Record, Clone, Debug, PartialEq)]
struct Document {
    id: i64,
    language: String,
    embedding: Vector<3>,
    picture: Option<Vector<2>>,
}

fn database() -> Db {
    let db = Db::builder().record::<Document>().open("sqlite::memory:").unwrap();
    db.create_missing_tables().unwrap();
    let rows = [
        ("en", [1.0, 0.0, 0.0], Some([3.0, 4.0])),
        ("en", [0.0, 2.0, 0.0], None),
        ("fr", [0.9, 0.1, 0.0], Some([0.0, 0.0])),
        ("fr", [-5.0, 0.0, 0.0], Some([3.0, 4.5])),
    ];
    for (language, embedding, picture) in rows {
        let (language, embedding) = (language.to_owned(), embedding.into());
        let picture = picture.map(Vector::from);
        let row = Document { id: 0, language, embedding, picture };
        db.table::<Document>().unwrap().insert(&row).unwrap();
    }
    db
}

fn ids(found: &[NearestRecord<Document>]) -> Vec<i64> {
    found.iter().map(|found| found.record.id).collect()
}

#[test]
fn the_nearest_records_come_first() {
    let db = database();
    let documents = db.table::<Document>().unwrap();
    let wanted = Vector::from([1.0, 0.05, 0.0]);
    let cosine = || Document::EMBEDDING.cosine(&wanted);
    assert_eq!(ids(&documents.nearest(Query::all().nearest(cosine(), 9)).unwrap()), [1, 3, 2, 4]);
    let query = Query::filter(Document::LANGUAGE.eq("fr")).nearest(cosine(), 1);
    let found = documents.nearest(&query).unwrap();
    assert_eq!(ids(&found), [3]);
    assert!(found[0].distance > 0.0 && found[0].distance < 0.01, "{}", found[0].distance);
    assert_eq!(documents.list(&query).unwrap(), [found[0].record.clone()]);
    assert_eq!(documents.first(&query).unwrap().map(|found| found.id), Some(3));
    let rows = documents.iter(&query).unwrap().collect::<bobak::Result<Vec<_>>>().unwrap();
    assert_eq!(rows, [found[0].record.clone()]);
    let names = documents.select(&query, (Document::ID, Document::LANGUAGE)).unwrap();
    assert_eq!(names, [(3, "fr".to_owned())]);

    let picture = Vector::from([3.0, 4.0]);
    let query = Query::all().nearest(Document::PICTURE.euclidean(&picture), 2).offset(1);
    let found = documents.nearest(query).unwrap();
    assert_eq!((ids(&found), found[0].distance, found[1].distance), (vec![4, 3], 0.5, 5.0));
    let found = documents.nearest(Query::all().nearest(Document::EMBEDDING.dot(&wanted), 1));
    assert_eq!(found.unwrap()[0].distance, -1.0);
}

#[test]
fn rows_without_a_struct_have_distances_too() {
    let db = database();
    let documents = db.dynamic("document").unwrap();
    let column = documents.column("embedding").unwrap().index();
    let by = |to: &[f32]| Query::all().nearest(Distance::new(column, Metric::Euclidean, to), 1);
    let found = documents.nearest(by(&[0.0, 3.0, 0.0])).unwrap();
    assert_eq!(found[0].record.get::<i64>("id").unwrap(), 2);
    assert_eq!(found[0].record.get::<Vector<3>>("embedding").unwrap()[1], 2.0);
    let error = documents.nearest(by(&[0.0, 3.0])).unwrap_err();
    let message =
        "the vector has 2 numbers, and its column has 3 (table document, column embedding)";
    assert_eq!((error.kind(), error.to_string()), (ErrorKind::Mismatch, message.to_owned()));
    assert_eq!(documents.nearest(Query::all()).unwrap_err().kind(), ErrorKind::Misuse);
}

#[test]
fn what_no_vector_can_be_is_one_clear_error() {
    let db = database();
    let documents = db.table::<Document>().unwrap();
    let wrong = Vector::from([0.0, f32::NAN, 0.0]);
    let row = Document { id: 0, language: "en".into(), embedding: wrong.clone(), picture: None };
    let error = documents.insert(&row).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfRange);
    assert!(error.to_string().starts_with("number 2 of the vector is NaN"), "{error}");
    let query = || Query::all().nearest(Document::EMBEDDING.cosine(&wrong), 3);
    assert_eq!(documents.nearest(query()).unwrap_err().kind(), ErrorKind::OutOfRange);
    let right = Vector::from([1.0, 0.0, 0.0]);
    let query = || Query::all().nearest(Document::EMBEDDING.cosine(&right), 3);
    for error in [
        documents.count(query()).unwrap_err(),
        documents.list(query().order_by(Document::ID.desc())).unwrap_err(),
        documents.select(query().group_by(Document::LANGUAGE), count()).unwrap_err(),
        documents.list(query().after(2)).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    }
    let sql = "UPDATE document SET embedding = x'0000803f' WHERE id = 1";
    assert_eq!(db.execute(sql, ()).unwrap_err().kind(), ErrorKind::Constraint);
}
