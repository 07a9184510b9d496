//! Servers for tests, and remote engines connected to them.

use bobak_core::{Engine, Error, Result};
use bobak_memory::Memory;
use bobak_remote::Remote;
use bobak_server::Server;
use bobak_serving::ServerBuilder;
use bobak_sqlite::Sqlite;
use bobak_testkit::Fixture;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

pub const TOKEN: &str = "a token for tests";
pub const BUSY: Duration = Duration::from_millis(200);

pub fn memory() -> Result<Arc<dyn Engine>> {
    Ok(Arc::new(Memory::builder().busy_timeout(BUSY).open()?))
}

/// A file database without durable writes, which no case needs.
pub fn file(folder: &Path) -> Result<Arc<dyn Engine>> {
    let builder = Sqlite::builder().synchronous(bobak_sqlite::Synchronous::Off);
    Ok(Arc::new(builder.busy_timeout(BUSY).open(folder.join("test.db"))?))
}

pub fn folder() -> Result<TempDir> {
    TempDir::new().map_err(|error| Error::io("make a folder", error))
}

pub fn serving(engine: Arc<dyn Engine>) -> ServerBuilder<Server> {
    Server::builder().shared_database("main", engine).token(TOKEN)
}

/// A server on a free port, and its address.
pub fn tcp_server(builder: ServerBuilder<Server>) -> Result<(Server, String)> {
    let server = builder.tcp("127.0.0.1:0").start()?;
    let address = server.addresses()[0].to_string();
    Ok((server, address))
}

pub fn tcp() -> Result<Fixture> {
    let (server, address) = tcp_server(serving(memory()?))?;
    Fixture::persistent(move || {
        let _alive = &server;
        Ok(Box::new(Remote::builder().token(TOKEN).open_tcp(&address)?) as Box<dyn Engine>)
    })
}

pub fn unix() -> Result<Fixture> {
    let folder = folder()?;
    let server = serving(file(folder.path())?).unix(folder.path().join("socket")).start()?;
    Fixture::persistent(move || {
        let _alive = &server;
        let socket = folder.path().join("socket");
        Ok(Box::new(Remote::builder().open_unix(socket)?) as Box<dyn Engine>)
    })
}

pub fn tls() -> Result<Fixture> {
    let folder = folder()?;
    let [chain, key] = certificate(folder.path());
    let (server, address) = tcp_server(serving(memory()?).tls(&chain, &key))?;
    let address = address.replace("127.0.0.1", "localhost");
    Fixture::persistent(move || {
        let (_alive, _here) = (&server, &folder);
        let builder = Remote::builder().token(TOKEN).tls(true).ca(&chain);
        Ok(Box::new(builder.open_tcp(&address)?) as Box<dyn Engine>)
    })
}

/// A self-signed certificate for `localhost` and its key, as PEM files.
pub fn certificate(folder: &Path) -> [std::path::PathBuf; 2] {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let paths = [folder.join("chain.pem"), folder.join("key.pem")];
    std::fs::write(&paths[0], made.cert.pem()).expect("the folder exists");
    std::fs::write(&paths[1], made.signing_key.serialize_pem()).expect("the folder exists");
    paths
}

/// Pipes in this process, in place of a child process's standard input and output.
pub fn pipes() -> Result<Fixture> {
    let folder = folder()?;
    let engine = file(folder.path())?;
    Fixture::persistent(move || {
        let _here = &folder;
        pipe_to(Arc::clone(&engine)).map(|remote| Box::new(remote) as Box<dyn Engine>)
    })
}

/// An engine behind pipes; its server ends with the client.
pub fn pipe_to(engine: Arc<dyn Engine>) -> Result<Remote> {
    let server = serving(engine).start()?;
    let pipe = || std::io::pipe().map_err(|error| Error::io("make a pipe", error));
    let (requests, to_server) = pipe()?;
    let (from_server, responses) = pipe()?;
    std::thread::spawn(move || server.serve_pipes(requests, responses));
    Remote::builder().timeout(Some(BUSY)).open_pipes(from_server, to_server)
}
