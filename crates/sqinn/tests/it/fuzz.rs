//! Requests that are not as they should be: an error or an end, never a panic, never much memory.

use crate::support::*;
use bobak_sqinn::Broken;

/// A conversation with something of everything.
fn conversation() -> Vec<u8> {
    let row = vec![V::Int32(7), V::Double(1.5), text("Namé"), V::Blob(vec![1, 2, 3]), V::Null];
    [
        run("CREATE TABLE t(a, b, c, d, e)"),
        exec("INSERT INTO t VALUES(?, ?, ?, ?, ?)", &[row.clone(), row.clone(), row]),
        query("SELECT * FROM t WHERE a = ?", &[V::Int64(7)], &[1, 3, 4, 5, 2]),
        run("nonsense"),
        quit(),
    ]
    .concat()
}

#[test]
fn every_end_is_clean() {
    let whole = conversation();
    let mut ends = 0;
    for length in 0..whole.len() {
        match converse(&whole[..length]).1 {
            Err(Broken::End) => ends += 1,
            Err(Broken::Cut) => {}
            other => panic!("after {length} bytes: {other:?}"),
        }
    }
    assert_eq!(ends, 5, "an end between two requests, or before the first");
}

#[test]
fn mutated_conversations_end() {
    let whole = conversation();
    let mut malformed = 0;
    for seed in 0..3000 {
        let mut random = Random(seed);
        let mut bytes = whole.clone();
        for _ in 0..=random.below(4) {
            let at = random.below(bytes.len());
            match random.below(5) {
                0 => bytes[at] ^= 1 << random.below(8),
                1 => bytes[at] = *random.pick(&[0, 1, 0x7f, 0x80, 0xff]),
                2 => drop(bytes.remove(at)),
                3 => bytes.insert(at, random.below(256) as u8),
                _ => bytes.truncate(at.max(1)),
            }
        }
        malformed += usize::from(matches!(converse(&bytes).1, Err(Broken::Malformed(_))));
    }
    assert!(malformed > 500, "{malformed}");
}

#[test]
fn random_bytes_in_frames_end() {
    for seed in 0..2000 {
        let mut random = Random(seed);
        let length = 1 + random.below(60);
        let small = [0, 1, 2, 3, 4, 5, 9, 0xff];
        let mut payload: Vec<u8> = (0..length).map(|_| *random.pick(&small)).collect();
        payload[0] = 1 + random.below(2) as u8;
        let (_, ended) = converse(&frame(&payload));
        assert!(ended.is_err());
    }
}

#[test]
fn what_is_malformed_is_said_before_the_end() {
    let exec = |tail: &[u8]| frame(&[&[1], string(b"SELECT 1").as_slice(), tail].concat());
    let cases: [(Vec<u8>, &str); 9] = [
        (frame(&[7]), "there is no request 7"),
        (int(0).into(), "a frame's length is 0"),
        (int(-5).into(), "a frame's length is -5"),
        (frame(&[1, 0, 0, 0, 0]), "without its closing NUL"),
        (frame(&[1, 0, 0, 0, 2, b'a', b'b']), "without its closing NUL"),
        (frame(&[1, 0x7f, 0xff, 0xff, 0xff, 0]), "2147483647 bytes where its frame has 1 left"),
        (frame(&[1, 0xff, 0xff, 0xff, 0xff, 0]), "a value's length is -1"),
        (exec(&[0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff]), "the number of parameters is -1"),
        (exec(&[0, 0, 0, 1, 0, 0, 0, 1, 6]), "the unknown type 6"),
    ];
    for (bytes, part) in cases {
        let (answer, ended) = converse(&bytes);
        assert!(matches!(ended, Err(Broken::Malformed(_))), "{part}: {ended:?}");
        let answer = Answers::new(answer.as_slice()).exec();
        // Before a request's code is known there is nothing to answer.
        if let Ok(answer) = answer {
            let error = answer.error.unwrap();
            assert!(error.contains(part), "{error}");
        } else {
            assert!(part.contains("frame's length"));
        }
    }
}

#[test]
fn numbers_that_are_only_claimed_cost_nothing() {
    // Two thousand million runs of a statement that is wrong, and as many parameters of nothing.
    let endless = [&[1], string(b"nonsense").as_slice(), &int(i32::MAX), &int(0)].concat();
    let many = [&[1], string(b"SELECT 1").as_slice(), &int(0), &int(i32::MAX)].concat();
    let (answer, ended) = converse(&[frame(&endless), frame(&many), quit()].concat());
    ended.unwrap();
    let mut answers = Answers::new(answer.as_slice());
    assert!(answers.exec().unwrap().error.unwrap().contains("syntax error"));
    assert_eq!(answers.exec().unwrap().error, None);
    // A value of two gibibytes, of which three bytes come.
    let head = [&int(i32::MAX), &[1][..], &int(i32::MAX - 100), b"SEL"].concat();
    assert!(matches!(converse(&head).1, Err(Broken::Cut)));
}
