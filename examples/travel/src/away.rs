//! The program that is away: takes the plan along, changes it offline, and comes back.

use std::net::TcpStream;
use std::time::Duration;

use dflat::Workspace;
use dflat::history::{Merged, Side};

use crate::{Outcome, plan};

/// How long a read or a write of a connection may take.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn travel(file: &str, address: &str) -> Outcome<()> {
    let workspace = plan::open(file)?;
    meet(&workspace, address)?;
    plan::show(&workspace, "away, first")?;
    plan::stay(&workspace, "Trieste", 3)?;
    plan::stay(&workspace, "Piran", 2)?;
    meet(&workspace, address)?;
    plan::show(&workspace, "away, last")?;
    Ok(workspace.shutdown()?)
}

/// Takes the plan of the other program, merges both, and gives it back. Where both have changed the
/// same field, the other program's value stays.
fn meet(workspace: &Workspace, address: &str) -> Outcome<()> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let history = workspace.history();
    let home = history.remote("home");
    let pulled = home.pull(&mut stream, "main")?;
    if let Merged::Conflicts(mut pending) = history.merge("home/main")? {
        pending.keep_all(Side::Theirs);
        pending.finish()?;
    }
    let pushed = home.push(&mut stream, "main")?;
    println!(
        "away: {} commits received, {} sent",
        pulled.commits, pushed.commits
    );
    Ok(())
}
