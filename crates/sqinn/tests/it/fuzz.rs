//! Malformed requests end in an error, without a panic and without much memory.

use crate::support::*;
use bobak_sqinn::ProtocolError;

/// A session with all kinds of requests and values.
fn session() -> Vec<u8> {
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
fn truncated_input_ends_cleanly() {
    let whole = session();
    let mut ends = 0;
    for length in 0..whole.len() {
        match run_session(&whole[..length]).1 {
            Err(ProtocolError::EndOfInput) => ends += 1,
            Err(ProtocolError::Truncated) => {}
            other => panic!("after {length} bytes: {other:?}"),
        }
    }
    assert_eq!(ends, 5, "an end between two requests, or before the first");
}

#[test]
fn mutated_sessions_end() {
    let whole = session();
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
        malformed += usize::from(matches!(run_session(&bytes).1, Err(ProtocolError::Malformed(_))));
    }
    assert!(malformed > 500, "{malformed}");
}

#[test]
fn random_frames_end() {
    for seed in 0..2000 {
        let mut random = Random(seed);
        let length = 1 + random.below(60);
        let small = [0, 1, 2, 3, 4, 5, 9, 0xff];
        let mut payload: Vec<u8> = (0..length).map(|_| *random.pick(&small)).collect();
        payload[0] = 1 + random.below(2) as u8;
        let (_, result) = run_session(&frame(&payload));
        assert!(result.is_err());
    }
}

#[test]
fn malformed_requests_get_error_reply() {
    let exec = |tail: &[u8]| frame(&[&[1], string(b"SELECT 1").as_slice(), tail].concat());
    let cases: [(Vec<u8>, &str); 9] = [
        (frame(&[7]), "unknown request code 7"),
        (int(0).into(), "invalid frame length 0"),
        (int(-5).into(), "invalid frame length -5"),
        (frame(&[1, 0, 0, 0, 0]), "without terminating NUL"),
        (frame(&[1, 0, 0, 0, 2, b'a', b'b']), "without terminating NUL"),
        (frame(&[1, 0x7f, 0xff, 0xff, 0xff, 0]), "2147483647 bytes, but its frame has 1 left"),
        (frame(&[1, 0xff, 0xff, 0xff, 0xff, 0]), "invalid value length -1"),
        (exec(&[0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff]), "invalid number of parameters: -1"),
        (exec(&[0, 0, 0, 1, 0, 0, 0, 1, 6]), "unknown value type 6"),
    ];
    for (bytes, part) in cases {
        let (reply, result) = run_session(&bytes);
        assert!(matches!(result, Err(ProtocolError::Malformed(_))), "{part}: {result:?}");
        let reply = Replies::new(reply.as_slice()).exec();
        // Errors before the request code get no reply.
        if let Ok(reply) = reply {
            let error = reply.error.unwrap();
            assert!(error.contains(part), "{error}");
        } else {
            assert!(part.contains("frame length"));
        }
    }
}

#[test]
fn claimed_lengths_and_counts_cost_nothing() {
    // Two billion runs of an invalid statement, and two billion parameters for no run.
    let endless = [&[1], string(b"nonsense").as_slice(), &int(i32::MAX), &int(0)].concat();
    let many = [&[1], string(b"SELECT 1").as_slice(), &int(0), &int(i32::MAX)].concat();
    let (reply, result) = run_session(&[frame(&endless), frame(&many), quit()].concat());
    result.unwrap();
    let mut replies = Replies::new(reply.as_slice());
    assert!(replies.exec().unwrap().error.unwrap().contains("syntax error"));
    assert_eq!(replies.exec().unwrap().error, None);
    // A value of two gibibytes, of which three bytes arrive.
    let head = [&int(i32::MAX), &[1][..], &int(i32::MAX - 100), b"SEL"].concat();
    assert!(matches!(run_session(&head).1, Err(ProtocolError::Truncated)));
}
