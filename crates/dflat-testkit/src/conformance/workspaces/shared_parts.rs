//! Laws of payloads of other writers in which many fields refer to one string.

use dflat::{ChangeRequest, Object};
use dflat_engine::object::TableView;

use crate::fixture::Open;
use crate::note::v1::diary as v1;
use crate::note::v2::diary as v2;

/// The vtable offset of `tags`.
const TAGS: u16 = 30;

/// A note whose tags all refer to one string of 1,000 bytes.
fn with_shared_tags(count: usize) -> Vec<u8> {
    let mut tags = vec![String::new(); count];
    tags[0] = "a".repeat(1_000);
    let data = v2::NoteData {
        id: "shared".into(),
        tags,
        ..v2::NoteData::default()
    };
    let mut bytes = dflat::Payload::to_bytes(&data).unwrap();
    let text = {
        let tags = TableView::root(&bytes).unwrap().vector(TAGS, 4).unwrap();
        let text = tags.unwrap().text_bytes(0).unwrap();
        text.as_ptr().addr() - bytes.as_ptr().addr() - 4
    };
    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let starts = (4..text).step_by(4);
    let is_start = |at: &usize| number(at - 4) == count && at + number(*at) == text;
    let first = { starts }.find(is_start).unwrap();
    for slot in (0..count).map(|index| first + 4 * index) {
        let offset = u32::try_from(text - slot).unwrap();
        bytes[slot..slot + 4].copy_from_slice(&offset.to_le_bytes());
    }
    bytes
}

// Promise: storage-format#S24
pub fn payload_with_shared_strings_is_stored_read_and_changed(open: Open) {
    for count in [100, 5_000] {
        let w = open();
        let bytes = with_shared_tags(count);
        assert!(bytes.len() < 2_000 + 16 * count, "{}", bytes.len());
        let note = v2::Note::from_bytes(&bytes).unwrap();
        let stored = note.clone();
        w.perform([v2::Note::TABLE], move |tx| {
            tx.submit(ChangeRequest::restoration(&stored)).map(drop)
        });
        let read = w.get::<v2::Note>("shared").unwrap().unwrap();
        assert_eq!(read.to_bytes(), bytes);
        assert_eq!(read.to_data().tags, vec!["a".repeat(1_000); count]);

        // Older code, which does not know the tags, writes each of them.
        let old = w.get::<v1::Note>("shared").unwrap().unwrap();
        w.change(&old, |data| data.rank = 7);
        let read = w.get::<v2::Note>("shared").unwrap().unwrap();
        assert_eq!((read.rank(), read.to_data().tags.len()), (7, count));
        assert_eq!(read.to_data().tags, note.to_data().tags);
        let size = read.to_bytes().len();
        assert!(size < 1_020 * count + 1_000, "{size}");
        // So does code that knows them.
        w.change(&read, |data| data.rank = 8);
        let again = w.get::<v2::Note>("shared").unwrap().unwrap();
        assert_eq!(again.to_bytes().len(), size);
    }
}
