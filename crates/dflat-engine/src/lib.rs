//! The untyped runtime of the Dflat object database.
