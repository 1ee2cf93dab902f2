//! A recipe that names everything by the prelude.

use cookbook::{Note, State};
use dflat::prelude::*;

/// Follows the open notes of a list.
fn follow_list(
    workspace: &Workspace,
    list: &str,
    mut show: impl FnMut(&[Note]) + Send + 'static,
) -> dflat::Result<Subscription> {
    let open: Predicate<Note> = query!(Note: state == State::Open && list == { list });
    workspace.subscribe(workspace.fetch().filter(open), move |notes| match notes {
        Ok(notes) => show(&notes),
        Err(error) if error.kind() == ErrorKind::ShutDown => {}
        Err(error) => eprintln!("the list is out of date: {error}"),
    })
}

#[test]
fn open_notes_of_a_list_are_followed() -> dflat::Result<()> {
    let workspace = crate::some_notes()?;
    let (send, shown) = std::sync::mpsc::channel();
    let subscription = follow_list(&workspace, "shopping", move |notes| {
        send.send(notes.len()).unwrap();
    })?;
    workspace.settle()?;
    assert_eq!(shown.try_iter().last(), Some(1));
    subscription.cancel();
    Ok(())
}
