//! Simulated power cuts, on a disk in memory.

use bobak_core::Engine;
use bobak_fault_vfs::{Disk, Loss};
use bobak_sqlite::SqliteBuilder;
use bobak_testkit::crash::{self, Machine, Promise, Tally};

use super::report::CrashRow;
use super::store::{Crash, Store};
use crate::contender::Failure;

/// Cuts the power during so many random programs.
///
/// # Errors
/// If there is no such disk.
pub(super) fn row(
    store: &'static Store,
    cuts: u64,
    tell: &mut dyn FnMut(u64),
) -> Result<CrashRow, Failure> {
    let settings = store.settings().ok_or_else(|| Failure::new("its power can't be cut"))?;
    let mut tally = Tally::default();
    let mut broken = None;
    for (seed, loss) in (1..=cuts).zip(Loss::POWER.into_iter().cycle()) {
        tell(1);
        let disk = Disk::new(seed)?;
        // Few pages, so that some are written before the commit.
        let builder = settings.clone().vfs(disk.vfs()).cache_bytes(20 * 4_096).readers(1);
        let machine = PoweredStore { disk, builder, loss };
        let crashed = match store.threads() {
            Some(threads) => crash::run_together(seed, threads, &machine, store.powerless()),
            // Whatever is lost is counted; what may be is looked at in the end.
            None => crash::run(seed, &machine, Promise::Nothing),
        };
        match crashed {
            Ok(more) => tally.add(more),
            Err(what) => broken = Some(what),
        }
    }
    Ok(CrashRow::new(store.name(), Crash::PowerCut, tally, store.powerless(), None, broken))
}

struct PoweredStore {
    disk: Disk,
    builder: SqliteBuilder,
    loss: Loss,
}

impl Machine for PoweredStore {
    fn open(&self) -> bobak_core::Result<Box<dyn Engine>> {
        Ok(Box::new(self.builder.clone().open("crash.db")?))
    }

    fn crash_at(&self, nth: u64) {
        self.disk.cut_power_at(nth, self.loss);
    }

    fn crash(&self) {
        if self.disk.is_on() {
            self.disk.cut_power(self.loss);
        }
    }

    fn is_down(&self) -> bool {
        !self.disk.is_on()
    }

    fn restart(&self) {
        self.disk.power_on();
    }
}
