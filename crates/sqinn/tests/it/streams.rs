//! Frame boundaries, long replies, large values.

use crate::support::*;
use bobak_sqinn::FRAME_LENGTH;

#[test]
fn frames_may_end_between_any_two_values() {
    let runs = vec![vec![V::Int32(1), text("a"), V::Blob(vec![9; 100])]; 4];
    let columns = [1, 4, 5];
    let insert = exec_pieces("INSERT INTO t VALUES(?, ?, ?)", &runs);
    let select = query_pieces("SELECT * FROM t WHERE a = ?", &[V::Int32(1)], &columns);
    for cut in 1..insert.len() {
        let framed = |pieces: &[Vec<u8>]| {
            let (before, after) = pieces.split_at(cut.min(pieces.len() - 1));
            [frame(&before.concat()), frame(&after.concat())].concat()
        };
        let table = run("CREATE TABLE t(a, b, c)");
        let bytes = [table, framed(&insert), framed(&select), quit()].concat();
        let (replies, ended) = run_session(&bytes);
        ended.unwrap();
        let mut replies = Replies::new(replies.as_slice());
        assert_eq!(replies.exec().unwrap().error, None);
        assert_eq!(replies.exec().unwrap().error, None, "cut at {cut}");
        assert_eq!(replies.query(3).unwrap().rows, runs, "cut at {cut}");
    }
}

#[test]
fn long_reply_has_bounded_frames_of_whole_rows() {
    let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 80000) \
        SELECT i, 'row ' || i FROM n";
    let (reply, ended) = run_session(&[query(sql, &[], &[2, 4]), quit()].concat());
    ended.unwrap();
    let mut replies = Replies::new(reply.as_slice());
    let rows = replies.query(2).unwrap().rows;
    assert_eq!(rows.len(), 80_000);
    for (number, row) in (1..).zip(&rows) {
        assert_eq!(*row, [V::Int64(number), text(&format!("row {number}"))]);
    }
    assert!(replies.frames.len() > 10);
    assert!(replies.frames.iter().all(|size| *size < FRAME_LENGTH + 100), "{:?}", replies.frames);
    // Each frame starts with a row or with the end mark.
    let mut at = 0;
    for size in &replies.frames {
        assert!(reply[at + 4] == 1 || reply[at + 4..at + 4 + size] == [0, 1]);
        at += 4 + size;
    }
}

#[test]
fn large_and_small_values_round_trip() {
    let large = |seed: u8, size: usize| {
        (0..size).map(|i| (i as u8).wrapping_add(seed)).collect::<Vec<u8>>()
    };
    let rows: Vec<Vec<V>> = [1, 31_999, 32_000, 32_768, 70_000, 3_000_000, 10]
        .iter()
        .map(|size| {
            vec![
                V::Int32(1),
                V::Text(large(1, *size)),
                V::Blob(large(2, *size)),
                V::Null,
                text("end"),
            ]
        })
        .collect();
    let requests = [
        run("CREATE TABLE t(a, b, c, d, e)"),
        exec("INSERT INTO t VALUES(?, ?, ?, ?, ?)", &rows),
        query("SELECT a, b, c, d, e FROM t", &[], &[1, 4, 5, 4, 4]),
        query(
            "SELECT c, ?1, b, b FROM t ORDER BY rowid DESC",
            &[rows[5][2].clone()],
            &[5, 5, 4, 5],
        ),
        quit(),
    ];
    let (replies, ended) = run_session(&requests.concat());
    ended.unwrap();
    let mut replies = Replies::new(replies.as_slice());
    replies.exec().unwrap();
    assert_eq!(replies.exec().unwrap().error, None);
    assert!(replies.query(5).unwrap().rows == rows);
    let back = replies.query(4).unwrap().rows;
    assert_eq!(back.len(), rows.len());
    for (back, row) in back.iter().zip(rows.iter().rev()) {
        let V::Text(bytes) = &row[1] else { panic!() };
        let expected = [row[2].clone(), rows[5][2].clone(), row[1].clone(), V::Blob(bytes.clone())];
        assert!(back[..] == expected);
    }
}

#[test]
fn too_long_parameter_is_skipped() {
    // Parameters of a failed statement are skipped without a check.
    let large = vec![V::Blob(vec![7; 5_000_000]), text("x")];
    let requests = [
        exec("INSERT INTO nowhere VALUES(?, ?)", &[large.clone(), large]),
        query("SELECT 1", &[], &[1]),
        quit(),
    ];
    let (replies, ended) = run_session(&requests.concat());
    ended.unwrap();
    let mut replies = Replies::new(replies.as_slice());
    assert_eq!(replies.exec().unwrap().error.unwrap(), "no such table: nowhere");
    assert_eq!(replies.query(1).unwrap().rows, [[V::Int32(1)]]);
}
