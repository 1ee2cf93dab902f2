//! The monitors of databases, and the kinds of their files by name.

use std::cell::Cell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::call::FileKind;
use super::monitor::Monitor;
use super::names;

/// A database that has a monitor, or had one.
struct MonitorEntry {
    monitor: Weak<Monitor>,
    /// The number of times that it was opened.
    opens: u64,
}

/// If this many databases are remembered, those without a monitor are forgotten.
const REMEMBERED_MAX: usize = 1024;

/// The databases, by the path of their main file.
static MONITORS: Mutex<Option<HashMap<PathBuf, MonitorEntry>>> = Mutex::new(None);

thread_local! {
    /// The address of the monitor of the database that this thread locked last, or 0.
    static CURRENT: Cell<usize> = const { Cell::new(0) };
}

/// The monitor of a database; a new one if it has none. `path` is absolute.
pub(crate) fn monitor_of(path: &Path) -> Arc<Monitor> {
    // The key is the resolved path, because SQLite resolves links before it opens the file.
    let key = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut guard = MONITORS.lock().unwrap_or_else(PoisonError::into_inner);
    let monitors = guard.get_or_insert_default();
    if monitors.len() >= REMEMBERED_MAX {
        monitors.retain(|_, database| database.monitor.strong_count() > 0);
    }
    let database = monitors.entry(key).or_insert_with(|| MonitorEntry {
        monitor: Weak::new(),
        opens: 0,
    });
    if let Some(monitor) = database.monitor.upgrade() {
        return monitor;
    }
    let monitor = Arc::new(Monitor::new(database.opens));
    database.opens += 1;
    database.monitor = Arc::downgrade(&monitor);
    monitor
}

/// The monitor of the database to which a named file belongs, and the file's kind. A partial copy
/// counts as the main file of the copy.
pub(super) fn monitor_of_file(file: &Path) -> Option<(Arc<Monitor>, FileKind)> {
    const SUFFIXES: [(&str, FileKind); 3] = [
        ("-wal", FileKind::Log),
        ("-shm", FileKind::LogIndex),
        ("-journal", FileKind::Journal),
    ];
    let guard = MONITORS.lock().unwrap_or_else(PoisonError::into_inner);
    let monitors = guard.as_ref()?;
    let find = |path: &Path| monitors.get(path)?.monitor.upgrade();
    let place = names::place_of(file);
    if let Some(monitor) = find(place.as_deref().unwrap_or(file)) {
        return Some((monitor, FileKind::Main));
    }
    let name = file.to_str()?;
    SUFFIXES.into_iter().find_map(|(suffix, kind)| {
        let main = name.strip_suffix(suffix)?;
        Some((find(Path::new(main))?, kind))
    })
}

/// Notes that this thread takes a lock of a database. A file without a name that this thread opens
/// next is a temporary file of this database.
pub(super) fn note_current(monitor: &Monitor) {
    CURRENT.set(std::ptr::from_ref(monitor).addr());
}

/// The monitor to which a file without a name belongs.
pub(super) fn current() -> Option<(Arc<Monitor>, FileKind)> {
    let address = CURRENT.get();
    let guard = MONITORS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut monitors = guard.as_ref()?.values().map(|database| &database.monitor);
    let monitor = monitors.find(|monitor| monitor.as_ptr().addr() == address)?;
    Some((monitor.upgrade()?, FileKind::Temporary))
}
