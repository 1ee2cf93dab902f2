//! The parts of change records besides the changes.

use dflat_model::record::{Part, RecordHead};

/// How an engine writes change records, and how the program names itself in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// Identifies the workspace across restarts of the program.
    pub workspace_id: Option<u128>,
    /// The author of all changes.
    pub author: Option<String>,
    /// Whether the states before changes are left out, for readers of keys only.
    pub keys_only: bool,
}

/// The label and the undo group of a transaction in its change record.
#[derive(Clone, Debug, Default)]
pub(super) struct Note {
    pub(super) label: Option<Box<str>>,
    pub(super) undo_group: Option<u64>,
    /// The part of its step in the history that a change record does not have.
    pub(super) history: Option<Box<[u8]>>,
}

/// The origin of an engine's records.
#[derive(Default)]
pub(super) struct RecordOrigin {
    /// The engine's number in records.
    pub(super) engine: u64,
    pub(super) recording: Recording,
    /// The id of the file, if the records name it.
    pub(super) file: Option<u128>,
}

/// A transaction to record: its place in its commit, its time and its note.
#[derive(Clone, Copy)]
pub(super) struct RecordPlace<'n> {
    pub(super) place: u32,
    pub(super) time: u64,
    pub(super) note: &'n Note,
}

impl RecordOrigin {
    /// Whether records name the file: a reader of records that name their workspace or author may
    /// have records of several files.
    pub(super) const fn names_file(&self) -> bool {
        self.recording.workspace_id.is_some() || self.recording.author.is_some()
    }

    /// The head of a record. An early part leaves everything to the final part that is optional.
    pub(super) fn head<'h>(&'h self, place: RecordPlace<'h>, part: Part) -> RecordHead<'h> {
        let head = RecordHead {
            place: place.place,
            engine: self.engine,
            time: place.time,
            part,
            ..RecordHead::default()
        };
        if matches!(part, Part::Early { .. }) {
            return head;
        }
        RecordHead {
            file: self.file,
            workspace: self.recording.workspace_id,
            author: self.recording.author.as_deref(),
            label: place.note.label.as_deref(),
            undo_group: place.note.undo_group,
            ..head
        }
    }
}
