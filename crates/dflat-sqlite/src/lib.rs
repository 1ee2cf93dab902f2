//! The SQLite backend of the Dflat object database.
