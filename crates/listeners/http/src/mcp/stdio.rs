//! Serves a parent process: a message per line of standard input, and a response per line of standard output.

use super::endpoint::McpClient;
use super::message::{RpcError, RpcMessages};
use crate::state::shared::ServerState;
use crate::workers::blocking;
use bobak_core::{Error, Result};
use std::collections::HashMap;
use std::io::{BufRead, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

/// The most messages that are replied to at the same time.
const MAX_RUNNING: usize = 64;

/// The requests that are running, by their ids.
type RunningRequests = HashMap<String, JoinHandle<()>>;

/// A stream of responses.
struct Responses<W>(Mutex<W>);

/// Serves a client until the end of `input`, and until all requests are replied to.
///
/// # Errors
/// `Io` if `input` fails.
pub(crate) fn serve(
    client: McpClient,
    runtime: &Handle,
    mut input: impl BufRead,
    output: impl Write + Send + 'static,
) -> Result<()> {
    let (client, responses) = (Arc::new(client), Arc::new(Responses(Mutex::new(output))));
    let limit = client.state.settings.max_body;
    let mut running = RunningRequests::new();
    let mut line = Vec::new();
    while read_line(&mut input, limit, &mut line)? {
        running.retain(|_, task| !task.is_finished());
        if line.len() > limit {
            let error = RpcError::invalid_request(format!("a message has at most {limit} bytes"));
            responses.send(&error.response(None));
        } else if !line.trim_ascii().is_empty() {
            client.begin(&line, runtime, &responses, &mut running);
        }
    }
    for task in running.into_values() {
        // It is canceled, or it has panicked, which its thread has reported.
        let _ = runtime.block_on(task);
    }
    Ok(())
}

impl McpClient {
    /// Begins to reply a line.
    fn begin<W: Write + Send + 'static>(
        self: &Arc<Self>,
        line: &[u8],
        runtime: &Handle,
        responses: &Arc<Responses<W>>,
        running: &mut RunningRequests,
    ) {
        let messages = match RpcMessages::parse(line) {
            Ok(messages) => messages,
            Err(error) => return responses.send(&error.response(None)),
        };
        let mut id = String::new();
        if let RpcMessages::One(message) = &messages {
            if let Some(task) = message.canceled_request().and_then(|id| running.remove(&id)) {
                task.abort();
            }
            id = message.id.as_ref().map(|id| id.get().to_owned()).unwrap_or_default();
        }
        if running.len() >= MAX_RUNNING {
            for (_, task) in running.drain() {
                let _ = runtime.block_on(task);
            }
        }
        let (client, responses) = (Arc::clone(self), Arc::clone(responses));
        let task = runtime.spawn(async move {
            let label = client.state.mcp_label();
            let (peer, permits) = (Arc::clone(&client.peer), client.state.worker_permits.clone());
            let reply = blocking::scope(&peer, &permits, label, client.respond(messages)).await;
            if let Some(reply) = reply {
                responses.send(&reply.text);
            }
        });
        running.insert(id, task);
    }
}

impl ServerState {
    /// Where the statements of tools come from.
    fn mcp_label(&self) -> Option<String> {
        self.route_label("POST", crate::route::Resource::Mcp.index())
    }
}

impl<W: Write> Responses<W> {
    fn send(&self, response: &str) {
        let mut output = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // If the client reads no more, the input ends soon.
        let _ = writeln!(output, "{response}").and_then(|()| output.flush());
    }
}

/// Reads a line, of which it keeps little more than `limit` bytes. Returns `false` at the end.
fn read_line(input: &mut impl BufRead, limit: usize, line: &mut Vec<u8>) -> Result<bool> {
    line.clear();
    let io = |error| Error::io("read a message", error);
    let mut limited = input.by_ref().take(limit as u64 + 1);
    if limited.read_until(b'\n', line).map_err(io)? == 0 {
        return Ok(false);
    }
    let mut rest = Vec::new();
    while line.len() > limit && line.last() != Some(&b'\n') && rest.last() != Some(&b'\n') {
        rest.clear();
        let mut limited = input.by_ref().take(limit as u64);
        if limited.read_until(b'\n', &mut rest).map_err(io)? == 0 {
            break;
        }
    }
    Ok(true)
}
