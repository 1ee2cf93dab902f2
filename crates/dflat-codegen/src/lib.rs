//! Back end of the Dflat schema compiler: a checked schema to source text.
