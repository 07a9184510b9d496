//! memory engine, to be written
