dflat::include_schema!("task");

fn main() {}
