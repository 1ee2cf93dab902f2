//! The objects of a pack into a file.

use dflat_pack::is_pack;

use crate::arguments::{CopyArguments, FileArguments, UnpackArguments};
use crate::failure::{Failure, Outcome};
use crate::session::Session;
use crate::transfer;

/// Imports the objects of a pack.
pub(crate) fn unpack(arguments: &UnpackArguments, session: &Session) -> Outcome {
    if !is_pack(&arguments.pack)? {
        let path = arguments.pack.display();
        return Err(Failure::usage(format!(
            "{path} is no pack\nhelp: `dflat copy` copies the objects of other files"
        )));
    }
    let UnpackArguments { pack, to, .. } = arguments;
    transfer::copy(
        &CopyArguments {
            file: FileArguments::of(pack.clone()),
            to: to.clone(),
            types: arguments.types.clone(),
            on_conflict: arguments.on_conflict,
            compare: false,
            dictionary: false,
            yes: arguments.yes,
            write: arguments.write.clone(),
        },
        session,
    )
}
