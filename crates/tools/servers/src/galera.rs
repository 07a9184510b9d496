//! A Galera cluster: MariaDB servers with the same data, all of which accept writes.
//!
//! Differences from plain servers: all know each other's ports; the first one founds the cluster; a node that was killed
//! first finds its last position, so that it gets only the missing transactions and not a full copy.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tempfile::TempDir;

use crate::account::Account;
use crate::server::{Plan, Server, prepare};
use crate::{Error, MariaDb, Options, Result, find, folder, mariadb, port};

/// How long a node may take to catch up.
const START_TIMEOUT: Duration = Duration::from_secs(120);

/// A cluster of three MariaDB nodes on loopback; it stops and loses its data when dropped.
#[derive(Debug)]
pub struct Galera {
    nodes: Vec<MariaDb>,
}

impl Galera {
    /// How many nodes there are: the fewest of which two can outvote one.
    pub const NODES: usize = 3;

    /// Starts one with the default [`Options`]. Takes some ten seconds, and a gigabyte of memory.
    ///
    /// # Errors
    /// If MariaDB or Galera is not installed, with what to install; if a node does not start, with its last
    /// log lines.
    pub fn start() -> Result<Self> {
        Self::start_with(&Options::new())
    }

    /// Starts one with `options` for every node.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_with(options: &Options) -> Result<Self> {
        let setup = Setup::new(options)?;
        let mut cluster = Self { nodes: Vec::new() };
        // In sequence: two nodes that join at the same time wait for each other.
        for (ports, folder) in found(&setup)? {
            let node = setup.start(folder, ports, cluster.nodes.is_empty())?;
            wait_until_synced(&node)?;
            cluster.nodes.push(node);
        }
        Ok(cluster)
    }

    /// Its nodes.
    #[must_use]
    pub fn nodes(&self) -> &[MariaDb] {
        &self.nodes
    }

    /// Restarts a node that was killed or stopped, and waits until it has caught up. At least one other node
    /// must be running.
    ///
    /// # Errors
    /// If it does not start, or does not catch up within two minutes, with its last log lines.
    pub fn rejoin(&self, node: usize) -> Result<()> {
        let Some(node) = self.nodes.get(node) else {
            return Err(Error::new(format!("the nodes are 0 to {}", Self::NODES - 1)));
        };
        node.restart()?;
        wait_until_synced(node)
    }
}

/// The settings that all nodes share.
struct Setup<'a> {
    options: &'a Options,
    account: Account,
    program: PathBuf,
    provider: PathBuf,
    ports: Vec<Ports>,
}

/// A node's ports, besides the one for clients.
#[derive(Clone, Copy, Debug)]
struct Ports {
    /// For group communication.
    group: u16,
    /// For incremental state transfers.
    part: u16,
    /// For full state transfers.
    whole: u16,
}

impl<'a> Setup<'a> {
    fn new(options: &'a Options) -> Result<Self> {
        let ports =
            |_| Ok(Ports { group: port::free()?, part: port::free()?, whole: port::free()? });
        Ok(Self {
            options,
            account: Account::choose(&["mysql"]),
            program: find::mariadb("mariadbd")?,
            provider: find::galera()?,
            ports: (0..Galera::NODES).map(ports).collect::<Result<_>>()?,
        })
    }

    /// Starts the node in `folder`, to found the cluster or to join it.
    fn start(&self, folder: TempDir, ports: Ports, founds: bool) -> Result<MariaDb> {
        let own = self.arguments(ports);
        let (options, program, account) =
            (self.options.clone(), self.program.clone(), self.account);
        let is_new = AtomicBool::new(true);
        let arguments = move |folder: &Path, port: u16| {
            let mut all = mariadb::settings(folder, port, &options);
            all.push(format!("--wsrep-node-incoming-address=127.0.0.1:{port}"));
            all.extend(own.iter().cloned());
            if is_new.swap(false, Ordering::Relaxed) {
                all.extend(founds.then(|| "--wsrep-new-cluster".to_owned()));
            } else if let Some(position) = recover(&program, account, folder, &all) {
                all.push(format!("--wsrep-start-position={position}"));
            }
            all
        };
        let plan = Plan {
            name: "mariadbd",
            account: self.account,
            program: self.program.clone(),
            configure: None,
            arguments: Box::new(arguments),
            is_ready: mariadb::is_ready,
            stop: Signal::TERM,
            stop_timeout: START_TIMEOUT,
            quit: Signal::KILL,
        };
        Ok(MariaDb::of(Server::start(plan, folder)?, self.options))
    }

    /// Galera's settings for the node with these ports.
    fn arguments(&self, Ports { group, part, whole }: Ports) -> Vec<String> {
        let members = self.ports.iter().map(|ports| format!("127.0.0.1:{}", ports.group));
        let members = members.collect::<Vec<_>>().join(",");
        // A node that is killed is missed after two seconds, not after the usual five.
        let provider_options = format!(
            "gmcast.listen_addr=tcp://127.0.0.1:{group};ist.recv_addr=127.0.0.1:{part};\
             ist.recv_bind=127.0.0.1:{part};gcache.size=64M;evs.keepalive_period=PT0.5S;\
             evs.suspect_timeout=PT2S;evs.inactive_timeout=PT5S;evs.install_timeout=PT5S"
        );
        vec![
            "--wsrep-on=ON".to_owned(),
            format!("--wsrep-provider={}", self.provider.display()),
            format!("--wsrep-provider-options={provider_options}"),
            "--wsrep-cluster-name=bobak".to_owned(),
            format!("--wsrep-cluster-address=gcomm://{members}"),
            format!("--wsrep-node-address=127.0.0.1:{group}"),
            format!("--wsrep-sst-receive-address=127.0.0.1:{whole}"),
            "--wsrep-sst-method=rsync".to_owned(),
            "--binlog-format=ROW".to_owned(),
            "--default-storage-engine=InnoDB".to_owned(),
            "--innodb-autoinc-lock-mode=2".to_owned(),
        ]
    }
}

/// A folder for each node, all with the same data: those of a cluster of one that has stopped in order. So the nodes
/// that join know as much as the first, and need no copy of everything.
fn found(setup: &Setup<'_>) -> Result<Vec<(Ports, TempDir)>> {
    let Some(ports) = setup.ports.first() else { return Ok(Vec::new()) };
    let folder = folder::make(setup.account)?;
    mariadb::install(setup.account, folder.path(), setup.options)?;
    let seed = setup.start(folder, *ports, true)?;
    wait_until_synced(&seed)?;
    seed.run_in("mysql", &mariadb::start_script(setup.options))?;
    seed.stop()?;
    let copy = |ports: &Ports| {
        let folder = folder::make(setup.account)?;
        folder::copy(setup.account, &seed.folder().join("data"), &folder.path().join("data"))?;
        Ok((*ports, folder))
    };
    setup.ports.iter().map(copy).collect()
}

/// The last position of the node in `folder`; `None` if it is unknown: the node then gets a full copy.
fn recover(
    program: &Path,
    account: Account,
    folder: &Path,
    arguments: &[String],
) -> Option<String> {
    // Without an ending MariaDB would give it one.
    let report = folder.join("recovered.err");
    drop(fs::remove_file(&report));
    let mut command = account.command(program);
    command.args(arguments).args(["--wsrep-recover", &format!("--log-error={}", report.display())]);
    command.stdin(Stdio::null());
    prepare(command, folder).ok()?;
    let text = fs::read_to_string(&report).ok()?;
    let (_, position) = text.rsplit_once("Recovered position:")?;
    position.split_whitespace().next().map(str::to_owned)
}

/// Waits until `node` has all data and is part of the cluster.
fn wait_until_synced(node: &MariaDb) -> Result<()> {
    const STATE: &str = "SELECT variable_value FROM information_schema.global_status \
                         WHERE variable_name = 'wsrep_local_state_comment'";
    let end = Instant::now() + START_TIMEOUT;
    loop {
        let state = node.run_in("mysql", STATE);
        if state.as_deref().is_ok_and(|state| state == "Synced") {
            return Ok(());
        }
        if Instant::now() > end {
            let state = state.unwrap_or_else(|error| error.to_string());
            let words = node.last_words();
            return Err(Error::new(format!("a Galera node does not catch up ({state}){words}")));
        }
        thread::sleep(Duration::from_millis(50));
    }
}
