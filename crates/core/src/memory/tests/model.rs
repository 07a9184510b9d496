//! Random programs against a naive model.
