//! Programs that follow the commits of others: by notifications, from replicas, and when another
//! server takes the place of the first one.

mod relay;
mod replaced;
mod replica;
