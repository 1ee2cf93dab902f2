//! Everything that differs between operating systems, with a portable fallback.
#![allow(
    unsafe_code,
    reason = "some functions of the system are reached through SQLite or by a system call only"
)]

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::ptr;

use libsqlite3_sys as sqlite;

use super::sqlite_error::SqliteError;

/// When a file may be read, on Apple's systems, which protect files while the device is locked. On
/// other systems it has no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileProtection {
    /// While the device is unlocked.
    Complete,
    /// While the device is unlocked. A file that was opened then may be read until it is closed.
    CompleteUnlessOpen,
    /// From the first time that the device is unlocked after it started.
    CompleteUntilFirstUserAuthentication,
    /// Always.
    None,
}

impl FileProtection {
    /// The flags with which Apple's SQLite opens a file, for it and the files beside it.
    pub(super) fn open_flags(self) -> i32 {
        if !cfg!(target_vendor = "apple") {
            return 0;
        }
        match self {
            Self::Complete => 0x0010_0000,
            Self::CompleteUnlessOpen => 0x0020_0000,
            Self::CompleteUntilFirstUserAuthentication => 0x0030_0000,
            Self::None => 0x0040_0000,
        }
    }
}

/// Identifies a file among all files, for as long as it is open.
#[cfg(unix)]
pub(crate) type FileNumber = (u64, u64);
/// Identifies a file among all files, for as long as it is open.
#[cfg(not(unix))]
pub(crate) type FileNumber = PathBuf;

/// The number of the file at a path.
#[cfg(unix)]
pub(crate) fn file_number(path: &Path) -> io::Result<FileNumber> {
    file_number_and_length(path).map(|(number, _)| number)
}

/// The number and the length of the file at a path.
#[cfg(unix)]
pub(crate) fn file_number_and_length(path: &Path) -> io::Result<(FileNumber, u64)> {
    use std::os::unix::fs::MetadataExt;
    let metadata = std::fs::metadata(path)?;
    Ok(((metadata.dev(), metadata.ino()), metadata.len()))
}

/// Whether a path names a pipe.
pub(crate) fn is_pipe(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_fifo())
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

/// Opens a file without the right to read or write it: closing such a handle drops no locks. `None`
/// if that fails, or if the system has no such handles.
pub(crate) fn open_unread(path: &Path) -> Option<File> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        use std::os::unix::fs::OpenOptionsExt;
        let flags = nix::fcntl::OFlag::O_PATH.bits();
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(flags).open(path).ok()
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    {
        let _ = path;
        None
    }
}

/// The number and the length of an open file, if a directory still has it.
pub(crate) fn linked_length(file: &File) -> Option<(FileNumber, u64)> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let metadata = file.metadata().ok().filter(|file| file.nlink() > 0)?;
        Some(((metadata.dev(), metadata.ino()), metadata.len()))
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        None
    }
}

/// The number of the file at a path.
#[cfg(not(unix))]
pub(crate) fn file_number(path: &Path) -> io::Result<FileNumber> {
    std::fs::canonicalize(path)
}

/// The number and the length of the file at a path.
#[cfg(not(unix))]
pub(crate) fn file_number_and_length(path: &Path) -> io::Result<(FileNumber, u64)> {
    let length = std::fs::metadata(path)?.len();
    Ok((file_number(path)?, length))
}

/// Whether the system lets this process write to the file or directory at a path. Nothing is
/// opened: closing a file would drop the locks that connections of this process hold on it.
pub(crate) fn may_write(path: &Path) -> bool {
    let Ok(path) = c_path(path) else {
        return false;
    };
    let mut may = 0;
    // SAFETY: The default VFS is never unregistered. The path is a C string, and `may` is a place
    // for the result.
    let code = unsafe {
        let vfs = sqlite::sqlite3_vfs_find(ptr::null());
        let Some(access) = vfs.as_ref().and_then(|vfs| vfs.xAccess) else {
            return false;
        };
        access(
            vfs,
            path.as_ptr(),
            sqlite::SQLITE_ACCESS_READWRITE,
            &raw mut may,
        )
    };
    code == sqlite::SQLITE_OK && may != 0
}

/// Creates a file that only its owner may use, on systems with file owners. It is an error if a
/// file of that name exists.
pub(crate) fn create_private(path: &Path, protection: Option<FileProtection>) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    // SQLite gives the same mode to the files beside it.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    match protection {
        Some(protection) => protect(&file, protection).map(|()| file),
        None => Ok(file),
    }
}

#[cfg(target_vendor = "apple")]
fn protect(file: &File, protection: FileProtection) -> io::Result<()> {
    use std::ffi::c_int;
    use std::os::fd::AsRawFd;

    const F_SETPROTECTIONCLASS: c_int = 64;
    unsafe extern "C" {
        fn fcntl(file: c_int, command: c_int, ...) -> c_int;
    }
    let class: c_int = match protection {
        FileProtection::Complete => 1,
        FileProtection::CompleteUnlessOpen => 2,
        FileProtection::CompleteUntilFirstUserAuthentication => 3,
        FileProtection::None => 4,
    };
    // SAFETY: The file is open, and the command takes an `int`.
    match unsafe { fcntl(file.as_raw_fd(), F_SETPROTECTIONCLASS, class) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

#[cfg(not(target_vendor = "apple"))]
#[allow(
    clippy::unnecessary_wraps,
    reason = "there is something to fail on Apple's systems"
)]
fn protect(_: &File, _: FileProtection) -> io::Result<()> {
    Ok(())
}

/// Makes the names in a directory durable, on systems that support it.
pub(crate) fn sync_directory(directory: &Path) -> io::Result<()> {
    if cfg!(unix) {
        return File::open(directory)?.sync_all();
    }
    Ok(())
}

/// A path as SQLite takes it.
#[cfg(unix)]
pub(super) fn c_path(path: &Path) -> Result<CString, SqliteError> {
    use std::os::unix::ffi::OsStrExt;
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| SqliteError::misuse("the path contains NUL"))
}

/// A path as SQLite takes it.
#[cfg(not(unix))]
pub(super) fn c_path(path: &Path) -> Result<CString, SqliteError> {
    let path = path
        .to_str()
        .ok_or_else(|| SqliteError::misuse("the path is not Unicode"))?;
    CString::new(path).map_err(|_| SqliteError::misuse("the path contains NUL"))
}

/// A path as SQLite passes it.
#[cfg(unix)]
pub(crate) fn path_of(bytes: &[u8]) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    Some(std::ffi::OsStr::from_bytes(bytes).into())
}

/// A path as SQLite passes it.
#[cfg(not(unix))]
pub(crate) fn path_of(bytes: &[u8]) -> Option<PathBuf> {
    std::str::from_utf8(bytes).ok().map(PathBuf::from)
}

/// The URI of a file with a parameter, as SQLite takes it.
pub(super) fn uri(path: &Path, parameter: &str) -> Result<CString, SqliteError> {
    let path = c_path(path)?;
    let mut uri = b"file:".to_vec();
    match cfg!(windows) {
        true => windows_path(path.as_bytes(), &mut uri),
        false => escape(path.as_bytes(), &mut uri),
    }
    uri.push(b'?');
    uri.extend(parameter.bytes());
    CString::new(uri).map_err(|_| SqliteError::misuse("the path contains NUL"))
}

/// Appends an absolute path of Windows, which may be in the long form (`\\?\`), in the form of a
/// URI: a drive follows three slashes, the name of a server follows four.
fn windows_path(path: &[u8], uri: &mut Vec<u8>) {
    let server = path.strip_prefix(br"\\?\UNC\");
    let server = server.or_else(|| {
        path.strip_prefix(br"\\")
            .filter(|rest| !rest.starts_with(b"?"))
    });
    let (start, path) = match server {
        Some(server) => ("////", server),
        None => ("///", path.strip_prefix(br"\\?\").unwrap_or(path)),
    };
    uri.extend(start.bytes());
    let path: Vec<u8> = path
        .iter()
        .map(|b| if *b == b'\\' { b'/' } else { *b })
        .collect();
    escape(&path, uri);
}

fn escape(path: &[u8], uri: &mut Vec<u8>) {
    for byte in path {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b':' => uri.push(*byte),
            byte if byte.is_ascii_alphanumeric() => uri.push(*byte),
            byte => uri.extend(format!("%{byte:02X}").bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The URIs are those of SQLite's page on URIs.
    #[test]
    fn windows_paths_become_uris() {
        for (path, expected) in [
            (r"C:\a b\c.db", "///C:/a%20b/c.db"),
            (r"\\?\C:\a?.db", "///C:/a%3F.db"),
            (r"\\server\share\a.db", "////server/share/a.db"),
            (r"\\?\UNC\server\share\a.db", "////server/share/a.db"),
        ] {
            let mut uri = Vec::new();
            windows_path(path.as_bytes(), &mut uri);
            assert_eq!(String::from_utf8(uri).unwrap(), expected);
        }
    }
}
