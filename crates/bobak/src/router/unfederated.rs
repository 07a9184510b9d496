//! Routing without SQLite. There is no federation: a statement runs on the main engine, or on its transaction's.

use super::{NamedEngine, RouterOptions, StatementRoute};
use bobak_core::{Parameter, Result};

pub(crate) struct Router;

impl Router {
    pub(crate) fn new(_: &[NamedEngine], _: RouterOptions) -> Result<Self> {
        Ok(Self)
    }

    pub(crate) fn with_engines(&self, _: &[NamedEngine]) -> Result<Self> {
        Ok(Self)
    }

    pub(crate) fn forget(&self) {}

    pub(crate) fn find(
        &self,
        _: &[NamedEngine],
        _: &str,
        _: &[Parameter<'_>],
    ) -> Result<StatementRoute> {
        Ok(StatementRoute::Text(0))
    }

    pub(crate) fn find_in(
        &self,
        _: &[NamedEngine],
        engine: usize,
        _: &str,
        _: &[Parameter<'_>],
    ) -> Result<StatementRoute> {
        Ok(StatementRoute::Text(engine))
    }
}
