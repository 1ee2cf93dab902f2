//! Compiles Dflat schemas from a build script.
