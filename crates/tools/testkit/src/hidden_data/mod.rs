//! Two databases that differ only in what a restricted client may not see must respond alike.
//!
//! [`GRANTS`] are the client's permissions. [`fill`] makes one of the two databases: they have other hidden rows, other
//! rows of a hidden table, and one of them has a table, with indexes, that the other lacks. [`compare`] sends the same
//! random requests to both, through engines that act for the client, and compares each response and each error.
//!
//! What cannot be hidden is the same in both: the keys and unique values that the client may collide with, which rows are
//! referenced, and the largest key of a table with generated keys.

mod joins;
mod model;
mod requests;
mod statements;
mod values;

pub use model::{GRANTS, fill, hidden_names, table_names};
pub use requests::{compare, send};
pub use statements::statement;

use crate::model::Random;

/// The generator of requests for other protocols, such as HTTP: the same for the same seed.
#[must_use]
pub fn random(seed: u64) -> Random {
    Random::new(seed, bobak_core::Capabilities::default())
}

/// How many requests each seed sends.
const REQUESTS: usize = 400;

/// Runs `test` with seeds, and the number of requests for each: `seeds` of them, from 0 on, unless
/// `BOBAK_PERMISSIONS_REQUESTS` has the number of all requests, and `BOBAK_PERMISSIONS_SEED` the first seed.
pub fn for_each_seed(seeds: u64, test: impl Fn(u64, usize)) {
    let set = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = set("BOBAK_PERMISSIONS_SEED").unwrap_or(0);
    let all = set("BOBAK_PERMISSIONS_REQUESTS");
    let seeds = all.map_or(seeds, |all| all.div_ceil(REQUESTS as u64));
    (first..first.saturating_add(seeds)).for_each(|seed| test(seed, REQUESTS));
}
