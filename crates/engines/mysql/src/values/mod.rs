//! Conversions between Bobak's values and the server's.

pub(crate) mod decode;
pub(crate) mod encode;
pub(crate) mod instants;
