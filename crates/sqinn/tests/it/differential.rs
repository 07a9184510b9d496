//! Random sessions get the same replies as from the reference implementation, however requests are split
//! into frames.

use crate::reference::Reference;
use crate::support::*;

const EXECS: &[(&str, usize)] = &[
    ("CREATE TABLE t(k INTEGER PRIMARY KEY, a, b TEXT, c BLOB UNIQUE)", 0),
    ("DROP TABLE t", 0),
    ("ALTER TABLE t ADD COLUMN d DEFAULT 7", 0),
    ("INSERT INTO t(a, b, c) VALUES(?, ?, ?)", 3),
    ("INSERT INTO t(a, b, c) VALUES(?, ?, ?)", 3),
    ("INSERT INTO t(k, a) VALUES(min(?, 1000000), ?)", 2),
    ("INSERT INTO t(a) VALUES(?)", 2),
    ("UPDATE t SET a = ?2 WHERE k = ?1", 2),
    ("DELETE FROM t WHERE k % 7 = ?", 1),
    ("BEGIN", 0),
    ("COMMIT", 0),
    ("ROLLBACK", 0),
    ("SELECT 1", 0),
    ("PRAGMA case_sensitive_like = 1", 0),
    ("PRAGMA user_version = 5", 0),
    ("nonsense", 1),
];
const QUERIES: &[(&str, usize)] = &[
    ("SELECT * FROM t ORDER BY k", 0),
    ("SELECT a, b, c, k FROM t WHERE k <= ?", 1),
    ("SELECT ?1, ?2, ?1 || ?2, typeof(?3)", 3),
    ("SELECT count(*), max(length(c)), b LIKE 'NAM%' FROM t", 0),
    (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT i FROM n",
        0,
    ),
    ("SELECT abs(?) FROM t", 1),
    ("INSERT INTO t(a) VALUES(?) RETURNING a, k", 1),
    ("PRAGMA user_version", 0),
    ("SELECT", 0),
];

enum Request {
    Exec(&'static str, Vec<Vec<V>>),
    Query(&'static str, Vec<V>, Vec<u8>),
}

#[test]
fn random_sessions_match_reference() {
    for seed in 0..60 {
        let mut random = Random(seed);
        let requests: Vec<_> = (0..60).map(|_| request(&mut random)).collect();
        let mut bytes = Vec::new();
        for request in &requests {
            cut(&mut random, request.pieces(), &mut bytes);
        }
        bytes.extend(quit());
        let (replies, ended) = run_session(&bytes);
        ended.unwrap();
        let (mut replies, mut reference) = (Replies::new(replies.as_slice()), Reference::new());
        for request in &requests {
            let (expected, reply, sql) = match request {
                Request::Exec(sql, runs) => {
                    (reference.exec(sql, runs), replies.exec().unwrap(), sql)
                }
                Request::Query(sql, parameters, columns) => {
                    let expected = reference.query(sql, parameters, columns);
                    (expected, replies.query(columns.len()).unwrap(), sql)
                }
            };
            assert_eq!(format!("{reply:?}"), format!("{expected:?}"), "seed {seed}: {sql}");
        }
    }
}

impl Request {
    fn pieces(&self) -> Vec<Vec<u8>> {
        match self {
            Self::Exec(sql, runs) => exec_pieces(sql, runs),
            Self::Query(sql, parameters, columns) => query_pieces(sql, parameters, columns),
        }
    }
}

fn request(random: &mut Random) -> Request {
    let values = |random: &mut Random, count| (0..count).map(|_| random.value()).collect();
    if random.below(3) > 0 {
        let (sql, each) = *random.pick(EXECS);
        let runs = if each == 0 { 1 } else { 1 + random.below(5) };
        Request::Exec(sql, (0..runs).map(|_| values(random, each)).collect())
    } else {
        let (sql, count) = *random.pick(QUERIES);
        let columns = (0..random.below(6)).map(|_| 1 + random.below(5) as u8).collect();
        Request::Query(sql, values(random, count), columns)
    }
}

/// Splits pieces into frames, often or rarely.
fn cut(random: &mut Random, pieces: Vec<Vec<u8>>, bytes: &mut Vec<u8>) {
    let often = 1 + random.below(8);
    let mut payload = Vec::new();
    for piece in pieces {
        payload.extend(piece);
        if random.below(often) == 0 {
            bytes.extend(frame(&payload));
            payload.clear();
        }
    }
    if !payload.is_empty() {
        bytes.extend(frame(&payload));
    }
}
