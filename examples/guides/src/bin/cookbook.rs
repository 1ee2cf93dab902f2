use dflat::{FetchedResult, Result, Workspace};

dflat::include_schema!("note");

/// Finds notes by those filters that the user has set: the first recipe of the cookbook.
fn search(
    workspace: &Workspace,
    list: Option<&str>,
    state: Option<State>,
    text: Option<&str>,
) -> Result<FetchedResult<Note>> {
    workspace
        .fetch::<Note>()
        .filter_opt(list.map(|list| Note::LIST.eq(list)))
        .filter_opt(state.map(|state| Note::STATE.eq(state)))
        .filter_opt(text.map(|text| Note::TITLE.ignore_case().contains(text)))
        .all()
}

fn main() -> Result<()> {
    let workspace = Workspace::in_memory();
    workspace.perform_changes_blocking([Note::TABLE], |tx| {
        let notes = [
            (1, "buy milk", "home"),
            (2, "call Ada", "work"),
            (3, "milk the cow", "work"),
        ];
        for (id, title, list) in notes {
            tx.submit(NoteChangeRequest::creation(NoteData {
                id,
                list: Some(list.to_owned()),
                ..NoteData::new(title)
            }))?;
        }
        Ok(())
    })?;
    for note in &search(&workspace, Some("work"), None, Some("MILK"))? {
        println!("{}: {}", note.id(), note.title());
    }
    println!("{} in all", search(&workspace, None, None, None)?.len());
    workspace.shutdown()
}
