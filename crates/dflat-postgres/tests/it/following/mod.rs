//! Programs that follow the commits of others: from replicas, and when another server takes the
//! place of the first one.

mod replaced;
mod replica;
