//! Front end of the Dflat schema compiler: FlatBuffers schema text to a checked schema.
mod schema;
pub use schema::*;
