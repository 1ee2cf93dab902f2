//! A second file, such as that of a phone, with the same notes.

use std::path::Path;

use dflat::Result;
use dflat::history::{Merged, Side};

use crate::editor::Editor;

/// Brings the notes to a second device. Both write while they are apart, and meet again.
pub(crate) fn write_apart_and_meet(laptop: &Editor, path: &Path) -> Result<()> {
    let phone = Editor::open(path, "Bob")?;
    meet(&phone, laptop)?;
    assert_eq!(phone.text(1)?, laptop.text(1)?);

    phone.rename(1, "journey")?;
    laptop.type_text(1, " and more", 9)?;
    meet(&phone, laptop)?;
    for editor in [&phone, laptop] {
        assert_eq!(editor.pinned()?, ["journey"]);
        assert!(editor.text(1)?.is_some_and(|text| text.ends_with("more")));
    }
    let head = |editor: &Editor| editor.workspace().history().head();
    assert_eq!(head(&phone)?, head(laptop)?);
    println!("devices: both have the title and the text");
    phone.workspace().shutdown()
}

/// The phone takes what the laptop has, and gives it the result. Where both have changed a field,
/// the phone's value stays.
fn meet(phone: &Editor, laptop: &Editor) -> Result<()> {
    let history = phone.workspace().history();
    let remote = history.remote("laptop");
    remote.pull_from(laptop.workspace(), "main")?;
    if let Merged::Conflicts(mut pending) = history.merge("laptop/main")? {
        pending.keep_all(Side::Ours);
        pending.finish()?;
    }
    let pushed = remote.push_to(laptop.workspace(), "main")?;
    println!("devices: {} commits sent", pushed.commits);
    Ok(())
}
