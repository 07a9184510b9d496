//! What the engines of database servers share.
//!
//! [`Pool`] opens connections through a [`Connector`] and lends them as [`PooledConnection`].

mod pool;

pub use pool::{Connector, Pool, PoolSettings, PooledConnection};
