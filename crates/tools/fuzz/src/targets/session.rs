//! A whole conversation of the wire with a server, over the memory engine.

use crate::{Target, sample, seeds};
use bobak_core::{Engine, SchemaChange};
use bobak_memory::Memory;
use bobak_server::Server;
use bobak_wire::{Credentials, HEADER_LENGTH, Hello, Inbox, Response, encode_request};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};

/// A client's bytes as a whole, and the server's replies.
pub(crate) const SESSION: Target = Target {
    name: "wire-session",
    about: "a whole conversation with a server",
    longest: 32 << 10,
    factor: 4_000,
    run,
    seeds: || {
        let frames = seeds::frames("client");
        let mut hello = Vec::new();
        let greeting = Hello::new("", "fuzz", Credentials::None);
        greeting.encode(&mut hello, 0).expect("a hello fits");
        let mut define = Vec::new();
        encode_request::define(&mut define, 1, 1, &sample::table()).expect("a table fits");
        let mut alter = Vec::new();
        let change = SchemaChange::CreateTable(sample::table());
        encode_request::alter(&mut alter, 2, &[change]).expect("a table fits");
        let whole = [hello.clone(), define, alter].concat();
        let one = |frame: &Vec<u8>| [hello.as_slice(), frame].concat();
        let all = [whole.clone(), frames.concat()].concat();
        frames
            .iter()
            .map(one)
            .chain([whole, [hello.clone(), frames.concat()].concat(), all])
            .collect()
    },
};

fn run(input: &[u8]) {
    let engine = Memory::new();
    engine.alter(&[SchemaChange::CreateTable(sample::table())]).expect("the table can be created");
    let server = Server::builder()
        .database("main", engine)
        .start()
        .expect("a server without listeners starts");
    // Files instead of pipes, so that no thread must read at the same time.
    let (requests, mut file_of_replies) = (file(input), file(&[]));
    let output = file_of_replies.try_clone().expect("a file can be shared");
    let _ = server.serve_pipes(requests, output);
    let mut replies = Vec::new();
    file_of_replies
        .seek(SeekFrom::Start(0))
        .and_then(|_| file_of_replies.read_to_end(&mut replies))
        .expect("a file is read");
    check(&replies);
}

/// A server sends replies, and nothing else.
fn check(bytes: &[u8]) {
    let mut inbox = Inbox::new(u32::MAX);
    inbox.push(bytes);
    while let Some(head) = inbox.next_frame().expect("a server sends frames") {
        match Response::decode(head, inbox.body()).expect("a server sends replies") {
            Response::Rows(mut rows) => assert!(rows.all(|row| row.is_ok()), "a damaged row"),
            Response::Outcomes(mut all) => {
                assert!(all.all(|outcome| outcome.is_ok()), "no outcome")
            }
            _ => {}
        }
    }
    assert!(inbox.len() < HEADER_LENGTH || inbox.is_empty(), "a frame is not whole");
}

fn file(content: &[u8]) -> File {
    let mut file = tempfile::tempfile().expect("a temporary file");
    file.write_all(content)
        .and_then(|()| file.seek(SeekFrom::Start(0)))
        .expect("a file is written");
    file
}
