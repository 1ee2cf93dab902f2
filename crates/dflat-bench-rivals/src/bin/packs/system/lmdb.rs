//! LMDB through heed: one read transaction for all reads, and values lent from the map.
#![allow(
    unsafe_code,
    reason = "heed marks the opening of an environment as unsafe"
)]

use std::path::Path;

use heed::types::Bytes;
use heed::{CommitOrAbort, Database, Env, EnvFlags, EnvOpenOptions, PutFlags};

use super::{Entry, Sum, System};
use crate::Result;
use crate::data::{Data, sum};

pub(super) fn entries() -> [Entry; 1] {
    [Entry {
        name: "LMDB (heed)",
        folder: "lmdb",
        build,
        open,
        note: "one read transaction, values lent from its map",
    }]
}

const MAP_BYTES: usize = 16 << 30;

type Values<'e> = Database<'e, Bytes, Bytes>;

fn environment(folder: &Path) -> Result<Env> {
    let mut options = EnvOpenOptions::new();
    options.map_size(MAP_BYTES);
    // SAFETY: This program opens the environment once at a time, and no other one does.
    Ok(unsafe { options.flags(EnvFlags::NO_SYNC).open(folder)? })
}

fn values(env: &Env) -> Result<Values<'_>> {
    let made = env.create_databases_and_commit(env.write_txn()?, |opener, tx| {
        let values: Values<'_> = opener.create_database(tx, None)?;
        Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(values))
    })?;
    Ok(made.unwrap_commit())
}

fn build(folder: &Path, data: &Data) -> Result<()> {
    let env = environment(folder)?;
    let values = values(&env)?;
    let mut tx = env.write_txn()?;
    for key in &data.keys {
        let value = data.value(*key);
        values.put_with_flags(&mut tx, PutFlags::APPEND, &key.to_be_bytes(), &value)?;
    }
    tx.commit()?;
    env.force_sync()?;
    Ok(())
}

struct Lmdb {
    env: Env,
}

fn open(folder: &Path) -> Result<Box<dyn System>> {
    let env = environment(folder)?;
    Ok(Box::new(Lmdb { env }))
}

impl System for Lmdb {
    fn get(&mut self, keys: &[u64]) -> Result<Sum> {
        let values = values(&self.env)?;
        let tx = self.env.read_txn()?;
        let mut all = Sum::default();
        for key in keys {
            if let Some(value) = values.get(&tx, &key.to_be_bytes())? {
                all.add(sum(value));
            }
        }
        Ok(all)
    }

    fn scan(&mut self) -> Result<Sum> {
        let values = values(&self.env)?;
        let tx = self.env.read_txn()?;
        let mut all = Sum::default();
        for entry in values.iter(&tx)? {
            all.add(sum(entry?.1));
        }
        Ok(all)
    }
}
