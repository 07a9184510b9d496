//! What a request says: its headers, parameters, key, preconditions and body.

pub(crate) mod body;
pub(crate) mod body_reader;
pub(crate) mod column_list;
pub(crate) mod context;
pub(crate) mod expansion;
pub(crate) mod headers;
pub(crate) mod key;
pub(crate) mod line_splitter;
pub(crate) mod media_type;
pub(crate) mod parameters;
pub(crate) mod place;
pub(crate) mod precondition;
pub(crate) mod range;
pub(crate) mod selection;
