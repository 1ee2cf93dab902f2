//! The same work in memory, in a file, in a pack and on the server.

use std::cell::Cell;
use std::time::Duration;

use dflat::Workspace;
use dflat::pack::Pack;
use dflat_testkit::post::Post;

use crate::dflat_side::{Dflat, data, gets, scan};
use crate::server::Server;
use crate::{OBJECTS, ROUNDS, median, per_operation};

/// Prints the microseconds of each operation: the median of the rounds.
fn line(name: &str, works: &[&dyn Fn() -> (usize, Duration)]) {
    let times = works.iter().map(|work| {
        work();
        let rounds = (0..ROUNDS).map(|_| per_operation(work()));
        format!(" {:.2} |", median(rounds.collect()))
    });
    println!("| {name} |{}", times.collect::<String>());
}

pub(crate) fn run(server: &Server) {
    println!(
        "\n| µs | get | scan | new object, 10,000 in a transaction | update, queued | \
         update, one after the other |\n|---|---|---|---|---|---|"
    );
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().to_owned();
    let numbers = Cell::new(0);
    let file = move || {
        numbers.set(numbers.get() + 1);
        Workspace::open(folder.join(format!("{}.db", numbers.get()))).unwrap()
    };
    let sides = [
        ("memory", Dflat::new(Workspace::in_memory)),
        ("file", Dflat::new(file)),
        ("server", Dflat::on(server)),
    ];
    for (name, side) in &sides {
        line(
            name,
            &[
                &|| (2_000, side.gets(2_000)),
                &|| (OBJECTS, side.scan()),
                &|| (OBJECTS, side.insert_many()),
                &|| (2_000, side.update_each(2_000)),
                &|| (200, side.update_alone(200)),
            ],
        );
    }
    let pack = Pack::build::<Post>(directory.path(), (0..OBJECTS).map(data)).unwrap();
    let workspace = pack.workspace();
    line(
        "pack",
        &[&|| (2_000, gets(workspace, 2_000)), &|| {
            (OBJECTS, scan(workspace))
        }],
    );
}
