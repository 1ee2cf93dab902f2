//! Refuses to write a file that stands on a pack without the pack.

use dflat_engine::Result;

use crate::connection::connections::Connections;
use crate::connection::encoding::opened_without_pack;
use crate::connection::file_connection::FileConnection;
use crate::layout::control::ControlStatement;

/// Fails if another process has let the file stand on a pack since this one opened it without the
/// pack: a key could be that of an object of the pack. It is called after a foreign commit.
pub(super) fn refuse_pack(
    connections: &Connections,
    connection: Option<&mut FileConnection>,
) -> Result<()> {
    let Some(connection) = connection.filter(|_| !connections.options().stands_on_pack) else {
        return Ok(());
    };
    let what = || format!("cannot write {}", connections.path().display());
    let found = connection.exists(ControlStatement::FindTable, "dflat__base");
    match found.map_err(|error| error.into_error(what()))? {
        true => {
            // The next transaction looks again.
            connections.commits().note_doubt();
            Err(opened_without_pack(what))
        }
        false => Ok(()),
    }
}
