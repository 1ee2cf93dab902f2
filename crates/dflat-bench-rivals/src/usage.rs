//! Counts what this process, its files and the machine use. For Linux with glibc.

#![allow(unsafe_code, reason = "the C library counts what it has allocated")]

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};

use crate::Result;

/// The bytes that this process has allocated and not freed, in Rust and in C.
pub fn held_bytes() -> usize {
    // SAFETY: The function has no parameters, and reads the allocator's own state with its locks.
    let info = unsafe { libc::mallinfo2() };
    info.uordblks + info.hblkhd
}

/// The bytes that this process has passed to calls that write.
///
/// # Errors
/// If the kernel does not count them.
pub fn written_bytes() -> Result<u64> {
    let text = fs::read_to_string("/proc/self/io")?;
    let line = text.lines().find_map(|line| line.strip_prefix("wchar: "));
    Ok(line.ok_or("/proc/self/io has no wchar")?.parse()?)
}

/// The bytes on disk of all files in a folder.
///
/// # Errors
/// If a file cannot be examined.
pub fn folder_bytes(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    each_file(folder, &mut |file| {
        bytes += fs::metadata(file)?.blocks() * 512;
        Ok(())
    })?;
    Ok(bytes)
}

/// Drops the pages of all files in a folder from the memory of the operating system.
///
/// # Errors
/// If a file cannot be opened or synced.
pub fn evict(folder: &Path) -> Result<()> {
    each_file(folder, &mut |file| {
        let file = File::open(file)?;
        // Only pages that are on disk can be dropped.
        file.sync_all()?;
        Ok(posix_fadvise(
            &file,
            0,
            0,
            PosixFadviseAdvice::POSIX_FADV_DONTNEED,
        )?)
    })
}

fn each_file(folder: &Path, work: &mut dyn FnMut(&Path) -> Result<()>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            each_file(&path, work)?;
        } else {
            work(&path)?;
        }
    }
    Ok(())
}

/// The load of the machine in the last minute: the number of threads that run or want to.
pub fn load() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let first = text.split(' ').next().and_then(|first| first.parse().ok());
    first.unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn held_and_written_bytes_are_counted() {
        let before = held_bytes();
        let held = vec![1_u8; 1 << 20];
        assert!(held_bytes() >= before + held.len());

        let (folder, before) = (tempfile::tempdir().unwrap(), written_bytes().unwrap());
        fs::write(folder.path().join("file"), &held).unwrap();
        assert!(written_bytes().unwrap() >= before + (1 << 20));
        assert!(folder_bytes(folder.path()).unwrap() >= 1 << 20);
        evict(folder.path()).unwrap();
    }
}
