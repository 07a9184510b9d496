//! What all requests share: clients, limits, metrics.

pub(crate) mod authentication;
pub(crate) mod metrics;
pub(crate) mod sessions;
pub(crate) mod shared;
pub(crate) mod statement_metrics;
