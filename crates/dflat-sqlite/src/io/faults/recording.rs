//! A recording of writes and syncs, in order, and the content that a loss of power would have left.
//!
//! The model of the device: synced data is on the device. Of data that was not synced, any part may
//! be on it: writes in part and out of order, torn between sectors, and a file's new length without
//! its content. Names are journalled: names that were not synced are on the device up to some point
//! in their order. A file's name is durable when its directory was synced. SQLite does that with
//! the first sync of a journal or log, and when it deletes a file with a request to sync. Bytes
//! beside those that were written are never damaged, which SQLite assumes too.

use std::path::{Path, PathBuf};

use crate::io::call::FileKind;

/// The unit that a device writes wholly or not at all.
const SECTOR: usize = 512;

/// Something that happened to the files.
#[derive(Clone, Debug)]
pub enum Event {
    /// The file existed before the recording.
    Found {
        /// The kind of the file.
        kind: FileKind,
        /// Its bytes, all durable.
        content: Vec<u8>,
    },
    /// The file was opened, and exists from now on.
    Open {
        /// The kind of the file.
        kind: FileKind,
    },
    /// Bytes were written.
    Write {
        /// The kind of the file.
        kind: FileKind,
        /// The offset of the first byte.
        offset: u64,
        /// The bytes.
        content: Vec<u8>,
    },
    /// The file was cut or extended.
    Truncate {
        /// The kind of the file.
        kind: FileKind,
        /// The new length.
        length: u64,
    },
    /// The file was synced.
    Flush {
        /// The kind of the file.
        kind: FileKind,
        /// Whether its directory was synced too.
        directory: bool,
    },
    /// The file was deleted.
    Delete {
        /// The kind of the file.
        kind: FileKind,
        /// Whether its directory was synced with the deletion.
        directory: bool,
    },
    /// The test set a mark.
    Mark(u64),
}

/// The part of the unsynced changes that survives a loss of power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PowerCut {
    /// All unsynced changes are lost.
    Nothing,
    /// All unsynced changes are on the device, as after the end of the process.
    Everything,
    /// The first part of the unsynced changes is on the device, the last write torn.
    Prefix,
    /// Any part of the unsynced changes is on the device.
    Random,
}

/// The recorded events of a database's files.
#[derive(Clone, Debug)]
pub struct Recording {
    events: Vec<Event>,
}

/// A change that a loss of power may undo.
#[derive(Clone)]
enum Change {
    Write { offset: u64, content: Vec<u8> },
    Truncate { length: u64 },
}

#[derive(Default)]
struct Inode {
    durable: Vec<u8>,
    /// Changes that were not synced, each with the position of its event.
    pending: Vec<(usize, Change)>,
}

/// The position of an event, a kind of file, and its new inode; `None` if the file was deleted.
type Naming = (usize, FileKind, Option<usize>);

#[derive(Default)]
struct Device {
    inodes: Vec<Inode>,
    /// The current names, as programs see them.
    names: [Option<usize>; FileKind::ALL.len()],
    durable_names: [Option<usize>; FileKind::ALL.len()],
    pending_names: Vec<Naming>,
}

impl Recording {
    pub(super) const fn new(events: Vec<Event>) -> Self {
        Self { events }
    }

    /// The events.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The points just before and just after each sync, and the end of the recording.
    #[must_use]
    pub fn sync_points(&self) -> Vec<usize> {
        let syncs = self.events.iter().enumerate().filter(|(_, event)| {
            matches!(
                event,
                Event::Flush { .. }
                    | Event::Delete {
                        directory: true,
                        ..
                    }
            )
        });
        let mut points: Vec<usize> = syncs.flat_map(|(at, _)| [at, at + 1]).collect();
        points.push(self.events.len());
        points.dedup();
        points
    }

    /// The last mark before a point.
    #[must_use]
    pub fn mark_before(&self, point: usize) -> Option<u64> {
        self.events[..point]
            .iter()
            .rev()
            .find_map(|event| match event {
                Event::Mark(mark) => Some(*mark),
                _ => None,
            })
    }

    /// Writes, as the database `path`, the files that a loss of power at `point` would leave, and
    /// removes the other files of that database. The same seed gives the same files.
    ///
    /// # Errors
    /// The errors of writing and removing the files.
    pub fn restore(
        &self,
        point: usize,
        cut: PowerCut,
        seed: u64,
        path: &Path,
    ) -> std::io::Result<()> {
        let mut device = Device::default();
        for (at, event) in self.events[..point].iter().enumerate() {
            device.apply(at, event);
        }
        let image = device.image(cut, seed);
        for kind in FileKind::ALL {
            let file = path_of(path, kind);
            match &image[kind as usize] {
                Some(content) => std::fs::write(file, content)?,
                None => match std::fs::remove_file(file) {
                    Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                        return Err(error);
                    }
                    _ => {}
                },
            }
        }
        Ok(())
    }
}

impl Device {
    fn apply(&mut self, at: usize, event: &Event) {
        match event {
            Event::Found { kind, content } => {
                let inode = self.add(content.clone());
                self.names[*kind as usize] = Some(inode);
                self.durable_names[*kind as usize] = Some(inode);
            }
            Event::Open { kind } => {
                if self.names[*kind as usize].is_none() {
                    let inode = self.add(Vec::new());
                    self.name(at, *kind, Some(inode));
                }
            }
            Event::Write {
                kind,
                offset,
                content,
            } => {
                let (offset, content) = (*offset, content.clone());
                self.change(at, *kind, Change::Write { offset, content });
            }
            Event::Truncate { kind, length } => {
                self.change(at, *kind, Change::Truncate { length: *length });
            }
            Event::Flush { kind, directory } => {
                if let Some(inode) = self.names[*kind as usize] {
                    self.inodes[inode].settle();
                }
                self.settle_names(*directory);
            }
            Event::Delete { kind, directory } => {
                self.name(at, *kind, None);
                self.settle_names(*directory);
            }
            Event::Mark(_) => {}
        }
    }

    fn add(&mut self, durable: Vec<u8>) -> usize {
        self.inodes.push(Inode {
            durable,
            pending: Vec::new(),
        });
        self.inodes.len() - 1
    }

    fn name(&mut self, at: usize, kind: FileKind, inode: Option<usize>) {
        self.names[kind as usize] = inode;
        self.pending_names.push((at, kind, inode));
    }

    fn change(&mut self, at: usize, kind: FileKind, change: Change) {
        if let Some(inode) = self.names[kind as usize] {
            self.inodes[inode].pending.push((at, change));
        }
    }

    fn settle_names(&mut self, directory: bool) {
        if directory {
            self.durable_names = self.names;
            self.pending_names.clear();
        }
    }

    /// The content of each file after a loss of power.
    fn image(mut self, cut: PowerCut, seed: u64) -> [Option<Vec<u8>>; FileKind::ALL.len()] {
        let mut random = Random(seed);
        let end = match cut {
            PowerCut::Nothing => 0,
            PowerCut::Everything => usize::MAX,
            PowerCut::Prefix | PowerCut::Random => self.pick_end(&mut random),
        };
        for (at, kind, inode) in &self.pending_names {
            if *at < end {
                self.durable_names[*kind as usize] = *inode;
            }
        }
        for inode in &mut self.inodes {
            match cut {
                PowerCut::Random => inode.settle_some(&mut random),
                _ => inode.settle_before(end, cut == PowerCut::Prefix, &mut random),
            }
        }
        self.durable_names
            .map(|inode| inode.map(|inode| std::mem::take(&mut self.inodes[inode].durable)))
    }

    /// The position of a pending change, or a position after all of them.
    fn pick_end(&self, random: &mut Random) -> usize {
        let changes = self.inodes.iter().flat_map(|inode| &inode.pending);
        let mut positions: Vec<usize> = changes.map(|(at, _)| *at).collect();
        positions.extend(self.pending_names.iter().map(|(at, ..)| *at));
        positions.sort_unstable();
        positions.push(usize::MAX);
        positions[random.below(positions.len())]
    }
}

impl Inode {
    fn settle(&mut self) {
        for (_, change) in std::mem::take(&mut self.pending) {
            self.write(&change);
        }
    }

    fn settle_before(&mut self, end: usize, tear: bool, random: &mut Random) {
        for (at, change) in std::mem::take(&mut self.pending) {
            if at < end {
                self.write(&change);
            } else if at == end && tear {
                self.write_torn(&change, random);
            }
        }
    }

    fn settle_some(&mut self, random: &mut Random) {
        for (_, change) in std::mem::take(&mut self.pending) {
            match random.below(3) {
                0 => {}
                1 => self.write_torn(&change, random),
                _ => self.write(&change),
            }
        }
    }

    /// Writes a random selection of the sectors.
    fn write_torn(&mut self, change: &Change, random: &mut Random) {
        let Change::Write { offset, content } = change else {
            return;
        };
        let mut position = *offset;
        let mut rest = content.as_slice();
        while !rest.is_empty() {
            let to_boundary = SECTOR - (position % SECTOR as u64) as usize;
            let (sector, others) = rest.split_at(to_boundary.min(rest.len()));
            if random.below(2) == 0 {
                let content = sector.to_vec();
                self.write(&Change::Write {
                    offset: position,
                    content,
                });
            }
            position += sector.len() as u64;
            rest = others;
        }
    }

    fn write(&mut self, change: &Change) {
        match change {
            Change::Write { offset, content } => {
                let Ok(start) = usize::try_from(*offset) else {
                    return;
                };
                let end = start + content.len();
                if self.durable.len() < end {
                    self.durable.resize(end, 0);
                }
                self.durable[start..end].copy_from_slice(content);
            }
            Change::Truncate { length } => {
                self.durable
                    .resize(usize::try_from(*length).unwrap_or(usize::MAX), 0);
            }
        }
    }
}

/// The path of a file of the database `path`. Files of kinds that are not recorded have no real
/// path; their path here is a placeholder.
pub(super) fn path_of(path: &Path, kind: FileKind) -> PathBuf {
    let suffix = match kind {
        FileKind::Main => "",
        FileKind::Log => "-wal",
        FileKind::LogIndex => "-shm",
        FileKind::Journal => "-journal",
        FileKind::Temporary => "-temp",
        FileKind::Other => "-other",
    };
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// `SplitMix64`, which gives the same numbers on every machine and in every version.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        (mixed % end.max(1) as u64) as usize
    }
}
