//! Recipes for reading.

use std::time::Duration;

use cookbook::{Note, NoteChangeRequest, NoteData, State};
use dflat::{Cancellation, Cursor, ErrorKind, FetchedResult, Object, Predicate, Result, Workspace};

use crate::{some_notes, titles};

/// Finds notes by those filters that the user has set.
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

#[test]
fn filters_that_are_not_set_select_all_notes() -> Result<()> {
    let workspace = some_notes()?;
    assert_eq!(search(&workspace, None, None, None)?.len(), 3);
    let found = search(&workspace, Some("shopping"), Some(State::Open), None)?;
    assert_eq!(titles(&found), ["bread"]);
    assert_eq!(
        titles(&search(&workspace, None, None, Some("PP"))?),
        ["apples"]
    );
    Ok(())
}

/// Finds the notes that have each of these words in their title or body.
fn with_words(workspace: &Workspace, words: &str) -> Result<Vec<Note>> {
    let has = |word| {
        let body = Note::BODY.ignore_case().contains(word);
        Note::TITLE.ignore_case().contains(word) | body
    };
    let has_each = Predicate::all(words.split_whitespace().map(has));
    Ok(workspace.fetch::<Note>().filter(has_each).all()?.to_vec())
}

#[test]
fn notes_with_each_word_are_found() -> Result<()> {
    let workspace = some_notes()?;
    assert_eq!(with_words(&workspace, "")?.len(), 3);
    assert_eq!(titles(&with_words(&workspace, "re rep")?), ["report"]);
    assert!(with_words(&workspace, "report bread")?.is_empty());
    Ok(())
}

/// Returns a page of the newest notes, and the position of the next page.
fn page(workspace: &Workspace, after: Option<&[u8]>) -> Result<(Vec<Note>, Option<Vec<u8>>)> {
    const LENGTH: usize = 2;
    let mut newest = workspace
        .fetch::<Note>()
        .order_by(Note::CREATED.descending())
        .limit(LENGTH);
    if let Some(after) = after {
        newest = newest.after(Cursor::from_bytes(after)?);
    }
    let notes = newest.all()?;
    let is_full = notes.len() == LENGTH;
    let next = notes
        .end()
        .filter(|_| is_full)
        .map(|cursor| cursor.to_bytes());
    Ok((notes.to_vec(), next))
}

#[test]
fn pages_have_every_note_once() -> Result<()> {
    let workspace = some_notes()?;
    let (first, next) = page(&workspace, None)?;
    let (second, end) = page(&workspace, next.as_deref())?;
    assert_eq!(titles(&first), ["apples", "report"]);
    assert_eq!((titles(&second), end), (vec!["bread"], None));
    Ok(())
}

fn sections(workspace: &Workspace) -> Result<Vec<(String, Vec<Note>)>> {
    let notes = workspace
        .fetch::<Note>()
        .order_by(Note::LIST.ascending())
        .order_by(Note::TITLE.ascending())
        .all()?;
    let sections = notes.chunk_by(|a, b| a.list() == b.list());
    Ok(sections
        .map(|notes| {
            (
                notes[0].list().unwrap_or("other").to_owned(),
                notes.to_vec(),
            )
        })
        .collect())
}

#[test]
fn sections_are_in_order() -> Result<()> {
    let sections = sections(&some_notes()?)?;
    let [(first, shopping), (second, work)] = &sections[..] else {
        panic!("{sections:?}");
    };
    assert_eq!((first.as_str(), second.as_str()), ("shopping", "work"));
    assert_eq!(
        (titles(shopping), titles(work)),
        (vec!["apples", "bread"], vec!["report"])
    );
    Ok(())
}

fn headings(workspace: &Workspace) -> Result<Vec<(String, usize)>> {
    let open = workspace
        .fetch::<Note>()
        .filter(Note::STATE.ne(State::Done));
    let groups = open.group_by(Note::LIST).all()?;
    let headings = groups.into_iter();
    Ok(headings
        .map(|group| (group.key.unwrap_or_default(), group.count))
        .collect())
}

#[test]
fn headings_count_the_open_notes_of_each_list() -> Result<()> {
    let expected = [("shopping".to_owned(), 1), ("work".to_owned(), 1)];
    assert_eq!(headings(&some_notes()?)?, expected);
    Ok(())
}

fn choices(workspace: &Workspace) -> Result<Vec<String>> {
    let open = workspace
        .fetch::<Note>()
        .filter(Note::STATE.ne(State::Done));
    open.order_by(Note::TITLE.ascending()).select(Note::TITLE)
}

#[test]
fn choices_are_the_titles_of_open_notes() -> Result<()> {
    assert_eq!(choices(&some_notes()?)?, ["bread", "report"]);
    Ok(())
}

fn menu() -> Vec<String> {
    State::ALL.iter().map(State::to_string).collect()
}

fn state_named(name: &str) -> Option<State> {
    State::from_name(name)
}

#[test]
fn menu_has_every_state() {
    assert_eq!(menu(), ["Open", "Waiting", "Done"]);
    assert_eq!(
        (state_named("Done"), state_named("x")),
        (Some(State::Done), None)
    );
}

fn report(workspace: &Workspace) -> Result<String> {
    workspace.fetch_within_a_snapshot(|snapshot| {
        let all = snapshot.fetch::<Note>().count()?;
        let done = snapshot
            .fetch::<Note>()
            .filter(Note::STATE.eq(State::Done))
            .count()?;
        let oldest = snapshot.fetch::<Note>().min(Note::CREATED)?;
        Ok(format!("{done} of {all} done, the oldest of {oldest:?}"))
    })
}

#[test]
fn report_counts_the_notes() -> Result<()> {
    assert_eq!(
        report(&some_notes()?)?,
        "1 of 3 done, the oldest of Some(1)"
    );
    Ok(())
}

fn find_text(workspace: &Workspace, text: &str, page: &Cancellation) -> Result<Vec<Note>> {
    let found = workspace
        .fetch::<Note>()
        .filter(Note::BODY.contains(text))
        .timeout(Duration::from_secs(2))
        .cancelled_by(page)
        .all();
    match found {
        Ok(notes) => Ok(notes.to_vec()),
        Err(error) if error.kind() == ErrorKind::Cancelled => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

#[test]
fn cancelled_search_finds_nothing() -> Result<()> {
    let workspace = some_notes()?;
    let page = Cancellation::new();
    page.cancel();
    assert!(find_text(&workspace, "a", &page)?.is_empty());
    Ok(())
}

fn export(workspace: &Workspace, to: &mut impl std::io::Write) -> Result<()> {
    for note in workspace.fetch::<Note>().iter()? {
        let data = note?.to_data();
        serde_json::to_writer(&mut *to, &data).map_err(dflat::Error::user)?;
        writeln!(to).map_err(dflat::Error::user)?;
    }
    Ok(())
}

fn import(workspace: &Workspace, lines: &str) -> Result<usize> {
    workspace.perform_changes_blocking([Note::TABLE], |tx| {
        for line in lines.lines() {
            let data: NoteData = serde_json::from_str(line).map_err(dflat::Error::user)?;
            tx.submit(NoteChangeRequest::upsert(data))?;
        }
        Ok(lines.lines().count())
    })
}

#[test]
fn import_of_an_export_has_the_same_notes() -> Result<()> {
    let workspace = some_notes()?;
    let mut text = Vec::new();
    export(&workspace, &mut text)?;
    let text = String::from_utf8(text).unwrap();
    assert!(
        text.starts_with(r#"{"id":1,"title":"bread","list":"shopping""#),
        "{text}"
    );
    let copy = Workspace::in_memory();
    assert_eq!(import(&copy, &text)?, 3);
    assert_eq!(
        copy.fetch::<Note>().all()?,
        workspace.fetch::<Note>().all()?
    );
    assert_eq!(import(&copy, "{").unwrap_err().kind(), ErrorKind::User);
    Ok(())
}
