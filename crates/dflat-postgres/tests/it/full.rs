//! A tablespace without space.

use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::Command;

use dflat::{ErrorKind, Result, Workspace};
use dflat_testkit::fixture::bounded;
use dflat_testkit::schema::{Item, ItemChangeRequest, ItemData};

use crate::engines::is_skipped;
use crate::process::UNPRIVILEGED;
use crate::server::{new_schema, new_server, sql};

/// A small file system in memory, which is unmounted when this is dropped.
struct Mount(PathBuf);

impl Mount {
    /// A file system of 8 MiB in a folder; `None` if this process may not mount it.
    fn new(folder: &Path) -> Option<Self> {
        fs::create_dir(folder).unwrap();
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "tmpfs", "-o", "size=8m", "tmpfs"])
            .arg(folder);
        let mounted = mount.output().is_ok_and(|output| output.status.success());
        let mounted = mounted.then(|| Self(folder.to_owned()))?;
        chown(folder, Some(UNPRIVILEGED), Some(UNPRIVILEGED)).unwrap();
        Some(mounted)
    }

    fn grow(&self) {
        let mut mount = Command::new("mount");
        let grown = mount.args(["-o", "remount,size=64m"]).arg(&self.0).status();
        assert!(grown.unwrap().success());
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

fn create(workspace: &Workspace, numbers: std::ops::Range<i32>) -> Result<()> {
    let created = workspace.perform_changes([Item::TABLE], move |tx| {
        let requests = numbers.map(|rank| {
            ItemChangeRequest::creation(ItemData {
                id: rank.to_string(),
                rank,
                // Texts that do not compress.
                name: Some(
                    (0..40)
                        .map(|part| {
                            blake3::hash(&[rank, part].map(i32::to_ne_bytes).concat()).to_string()
                        })
                        .collect(),
                ),
                ..ItemData::default()
            })
        });
        tx.submit_many(requests)
            .into_iter()
            .try_for_each(|made| made.map(drop))
    });
    created.wait()
}

#[test]
fn full_tablespace_fails_transactions_and_loses_no_other() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let server = new_server(&[]).unwrap();
        let folder = server.process.directory.join("small");
        let Some(small) = Mount::new(&folder) else {
            eprintln!("skipped: this process may not mount a file system");
            return;
        };
        let tablespace = format!("CREATE TABLESPACE small LOCATION '{}'", folder.display());
        sql(&server, &tablespace).unwrap();
        let address = format!("{} options='-c default_tablespace=small'", server.address());
        let workspace = Workspace::server(&address)
            .schema(new_schema())
            .open()
            .unwrap();
        let mut count = 0;
        let error = loop {
            match create(&workspace, count..count + 100) {
                Ok(()) => count += 100,
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), ErrorKind::StorageFull, "{error:?}");
        assert!((100..10_000).contains(&count), "{count}");
        // The commits before are there, and the program goes on.
        let stored = || workspace.fetch::<Item>().count().unwrap();
        assert_eq!(stored(), count as usize);
        let last = workspace.get::<Item>(&(count - 1).to_string()).unwrap();
        assert_eq!(last.unwrap().rank(), count - 1);
        small.grow();
        create(&workspace, count..count + 100).unwrap();
        assert_eq!(stored(), count as usize + 100);
        workspace.shutdown().unwrap();
    });
}
