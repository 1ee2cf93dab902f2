//! An embedded object database: FlatBuffers schemas, SQLite storage, typed queries, live results.
