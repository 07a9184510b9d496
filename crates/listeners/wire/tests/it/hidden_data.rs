//! Two servers whose databases differ only in what a client may not see respond alike: over TCP and over pipes,
//! whatever bytes it sends.

use crate::transports::{BUSY, tcp_server};
use bobak_core::{Engine, Error, Result};
use bobak_memory::Memory;
use bobak_permissions::{Access, new_token};
use bobak_remote::Remote;
use bobak_server::Server;
use bobak_sqlite::Sqlite;
use bobak_testkit::{Mutator, hidden_data};
use bobak_wire::HEADER_LENGTH;
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex};

fn engine(is_sqlite: bool, variant: i64) -> Result<Arc<dyn Engine>> {
    let engine: Arc<dyn Engine> = match is_sqlite {
        true => Arc::new(Sqlite::builder().busy_timeout(BUSY).open_memory()?),
        false => Arc::new(Memory::builder().busy_timeout(BUSY).open()?),
    };
    hidden_data::fill(&*engine, variant).unwrap();
    Ok(engine)
}

/// An access file with one client, and its token.
fn access() -> (Access, String) {
    let (token, hash) = new_token().unwrap();
    let text = format!("role tester{}\ntoken ada {hash} roles tester\n", hidden_data::GRANTS);
    (Access::from_text(&text).unwrap(), token)
}

fn server(is_sqlite: bool, variant: i64, access: &Access) -> Server {
    let engine = engine(is_sqlite, variant).unwrap();
    Server::builder().shared_database("main", engine).access(access.clone()).start().unwrap()
}

fn pipe() -> (PipeReader, PipeWriter) {
    io::pipe().map_err(|error| Error::io("make a pipe", error)).unwrap()
}

/// A client of a server, over pipes.
fn piped(server: Server, token: &str, recorded: &Recorded) -> Remote {
    let (from_client, to_server) = pipe();
    let (from_server, to_client) = pipe();
    std::thread::spawn(move || server.serve_pipes(from_client, to_client));
    let recorder = Recorder { to: to_server, recorded: Arc::clone(recorded) };
    Remote::builder().token(token).open_pipes(from_server, recorder).unwrap()
}

#[test]
fn servers_respond_alike_over_tcp() {
    hidden_data::for_each_seed(2, |seed, requests| {
        for is_sqlite in [true, false] {
            let (access, token) = access();
            let pair = [0, 1].map(|variant| {
                let engine = engine(is_sqlite, variant).unwrap();
                let builder = Server::builder().shared_database("main", engine);
                let (server, address) = tcp_server(builder.access(access.clone())).unwrap();
                (Remote::builder().token(&token).open_tcp(&address).unwrap(), server)
            });
            hidden_data::compare([&pair[0].0, &pair[1].0], seed, requests).unwrap();
        }
    });
}

#[test]
fn servers_respond_alike_over_pipes() {
    hidden_data::for_each_seed(2, |seed, requests| {
        let (access, token) = access();
        let pair = [0, 1]
            .map(|variant| piped(server(true, variant, &access), &token, &Recorded::default()));
        hidden_data::compare([&pair[0], &pair[1]], seed, requests).unwrap();
    });
}

/// What a client wrote.
type Recorded = Arc<Mutex<Vec<u8>>>;

/// Writes to a pipe, and remembers what.
struct Recorder {
    to: PipeWriter,
    recorded: Recorded,
}

impl Write for Recorder {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.recorded.lock().unwrap().extend(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// The requests of a client, the hello first.
fn recorded(seed: u64, requests: usize, access: &Access, token: &str) -> Vec<Vec<u8>> {
    let bytes = Recorded::default();
    let client = piped(server(true, 0, access), token, &bytes);
    hidden_data::send(&client, seed, requests).unwrap();
    drop(client);
    let bytes = bytes.lock().unwrap();
    let mut frames = Vec::new();
    let mut rest = &bytes[..];
    while let Some(length) = rest.first_chunk::<4>() {
        let (frame, after) = rest.split_at(HEADER_LENGTH + u32::from_le_bytes(*length) as usize);
        frames.push(frame.to_vec());
        rest = after;
    }
    frames
}

/// The response of a server to a client's bytes.
fn response(server: &Server, bytes: &[u8]) -> Vec<u8> {
    // Files instead of pipes, so that no thread must read at the same time.
    let (mut requests, mut responses) =
        (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
    requests.write_all(bytes).unwrap();
    rewind(&mut requests);
    let _ = server.serve_pipes(requests, responses.try_clone().unwrap());
    rewind(&mut responses);
    let mut read = Vec::new();
    responses.read_to_end(&mut read).unwrap();
    read
}

fn rewind(file: &mut File) {
    file.seek(SeekFrom::Start(0)).unwrap();
}

/// The hello, all descriptions of tables, and some of the other frames, many of them changed; the header of most has the
/// length of the body.
fn conversation(mutator: &mut Mutator, frames: &[Vec<u8>]) -> Vec<u8> {
    const DEFINE: u8 = 2;
    let mut bytes = frames[0].clone();
    bytes.extend(frames.iter().filter(|frame| frame[4] == DEFINE).flatten());
    let first = 1 + mutator.below(frames.len() - 1);
    for frame in frames.iter().skip(first).take(1 + mutator.below(24)) {
        let other = &frames[1 + mutator.below(frames.len() - 1)];
        let (head, body) = frame.split_at(HEADER_LENGTH);
        match mutator.below(20) {
            0 => bytes.extend(mutator.mutate(frame, other, 4_096)),
            1..6 => {
                let body = mutator.mutate(body, other, 4_096);
                bytes.extend(u32::try_from(body.len()).unwrap().to_le_bytes());
                bytes.extend(&head[4..]);
                bytes.extend(body);
            }
            _ => bytes.extend(frame),
        }
    }
    bytes
}

#[test]
fn servers_respond_to_any_bytes_alike() {
    hidden_data::for_each_seed(2, |seed, requests| {
        let (access, token) = access();
        let frames = recorded(seed, requests, &access, &token);
        let mut mutator = Mutator::new(seed);
        for is_sqlite in [true, false] {
            let pair = [0, 1].map(|variant| server(is_sqlite, variant, &access));
            for number in 0..requests / 4 {
                let bytes = conversation(&mut mutator, &frames);
                let [a, b] = pair.each_ref().map(|server| response(server, &bytes));
                let (a_text, b_text) = (a.escape_ascii(), b.escape_ascii());
                assert!(a == b, "conversation {number} of seed {seed}:\n{a_text}\n{b_text}");
            }
        }
    });
}
