//! Two programs plan a journey, each in a file of its own. They change it while they are offline,
//! and meet again over TCP.
//!
//! `travel` plays a scene with two processes. `travel home FILE` answers, and prints its address;
//! `travel away FILE ADDRESS` changes the plan, and exchanges it with that address.
#![allow(clippy::print_stdout, reason = "the example prints what happens")]

mod away;
mod home;
mod plan;
mod scene;

dflat::include_schema!("plan");

/// Any error of the program.
type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [] => scene::play(),
        ["home", file] => home::answer(file),
        ["away", file, address] => away::travel(file, address),
        _ => Err("usage: travel [home FILE | away FILE ADDRESS]".into()),
    }
}
