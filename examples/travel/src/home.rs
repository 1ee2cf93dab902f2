//! The program at home: changes the plan, and answers the one that is away.

use std::net::TcpListener;
use std::time::Duration;

use crate::{Outcome, plan};

/// How long a read or a write of a connection may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Answers two connections. Between them the program is offline, and changes the plan.
pub(crate) fn answer(file: &str) -> Outcome<()> {
    let workspace = plan::open(file)?;
    plan::stay(&workspace, "Vienna", 2)?;
    plan::stay(&workspace, "Trieste", 1)?;
    // Only programs of this machine reach the loopback interface. Between machines, the connection
    // must be authenticated and encrypted.
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?);
    for visit in 0..2 {
        let (mut stream, _) = listener.accept()?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let history = workspace.history();
        let served = history.server().accept_pushes().serve(&mut stream)?;
        println!("home: {} pulls, {} pushes", served.pulls, served.pushes);
        if visit == 0 {
            plan::book(&workspace, "Trieste", "Duchi")?;
        }
    }
    plan::show(&workspace, "home")?;
    Ok(workspace.shutdown()?)
}
