//! The code of `docs/packs.md` runs.

use std::ops::ControlFlow;
use std::path::Path;

use dflat::OnConflict;
use dflat::pack::{BuildOptions, OpenOptions, Pack, PackBuilder, collect_garbage};
use dflat::{Result, Workspace};

use crate::bench_doc::BenchDoc;
use crate::guide_page::check_blocks;
use crate::post::{Post, PostChangeRequest, PostData};

const PAGE: &str = include_str!("../../../../docs/packs.md");

fn post(title: &str) -> PostData {
    PostData {
        title: title.to_owned(),
        priority: 9,
        ..PostData::default()
    }
}

fn made(directory: &Path, workspace: &Workspace) -> Result<Pack> {
    let posts = ["c", "a", "b"].map(post);
    let pack = Pack::build::<Post>(directory, posts)?;

    let old = workspace.fetch::<Post>().filter(Post::PRIORITY.lt(10));
    let archive = old.pack(directory)?;
    assert_eq!(archive.objects::<Post>()?.len(), 0);

    let options =
        BuildOptions::default()
            .memory_max(16 << 20)
            .on_progress(|progress| match progress.added {
                0..1_000_000 => ControlFlow::Continue(()),
                _ => ControlFlow::Break(()),
            });
    let tables = [Post::TABLE, BenchDoc::TABLE];
    let mut builder = PackBuilder::new(directory, tables, options)?;
    builder.add::<Post>(&post("new"))?;
    for doc in workspace.fetch::<BenchDoc>().iter()? {
        builder.add_object(&doc?)?;
    }
    let both = builder.finish()?;
    assert_eq!(both.tables().count(), 2);
    Ok(pack)
}

fn read(pack: &Pack, other: &Pack) -> Result<()> {
    let pack = Pack::open(pack.path())?;
    let urgent = pack.fetch::<Post>().filter(Post::PRIORITY.gt(8));
    let urgent = urgent.order_by(Post::TITLE.ascending()).all()?;
    let one: Option<Post> = pack.get("a")?;
    assert_eq!((urgent.len(), one.is_some()), (3, true));

    let posts = pack.objects::<Post>()?;
    let (first, last) = (posts.nth(0)?, posts.iter().next_back().transpose()?);
    let some = posts.get_many(["a", "c", "x"])?;
    let b_to_c: Vec<Post> = posts.range("b".."d")?.collect::<Result<_>>()?;
    let place = posts.index_of("c")?;
    assert_eq!((first.unwrap().title(), last.unwrap().title()), ("a", "c"));
    assert_eq!(some.iter().flatten().count(), 2);
    assert_eq!((b_to_c.len(), place), (2, Some(2)));

    let others = other.objects::<Post>()?;
    let missing: Vec<Post> = posts.difference(&others).collect::<Result<_>>()?;
    assert_eq!(missing.len(), 2);
    Ok(())
}

#[cfg(feature = "pack-map")]
#[allow(unsafe_code, reason = "the file stays as it is")]
fn mapped(pack: &Pack) -> Result<Pack> {
    // SAFETY: No program changes the file or cuts it off while the pack is open.
    let mapped = unsafe { Pack::open_mapped(pack.path(), OpenOptions::default())? };
    Ok(mapped)
}

#[cfg(feature = "pack-map")]
#[test]
fn mapped_pack_of_the_page_is_read() -> Result<()> {
    let directory = tempfile::tempdir().unwrap();
    let pack = Pack::build::<Post>(directory.path(), ["a", "b"].map(post))?;
    let mapped = mapped(&pack)?;
    assert_eq!(mapped.fetch::<Post>().count()?, 2);
    assert_eq!(mapped.get::<Post>("b")?.unwrap().title(), "b");
    Ok(())
}

#[test]
fn examples_of_the_packs_page_run() -> Result<()> {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let workspace = Workspace::in_memory();
    let pack = made(directory, &workspace)?;
    let other = Pack::build::<Post>(directory, [post("b")])?;
    read(&pack, &other)?;

    let amended = pack
        .edit()
        .upsert::<Post>(&post("d"))
        .remove::<Post>("a")
        .finish()?;
    let saved = amended.save(directory)?;

    let options = OpenOptions::default();
    let opened = Pack::open_on(saved.path(), options, |digest| {
        Ok((digest == pack.digest()).then(|| pack.clone()))
    })?;
    assert_eq!(opened.objects::<Post>()?.len(), 3);

    let path = directory.join("own.db");
    let own = Workspace::builder(path).standing_on(&pack).open()?;
    own.write_first()
        .perform_changes_blocking([Post::TABLE], |tx| {
            if let Some(first) = tx.get::<Post>("a")?
                && let Some(request) = PostChangeRequest::deletion(tx, &first)?
            {
                tx.submit(request)?;
            }
            tx.submit(PostChangeRequest::upsert(post("b")))?;
            tx.submit(PostChangeRequest::creation(post("e"))).map(drop)
        })?;
    let all = own.fetch::<Post>().all()?;
    assert_eq!(all.len(), 3);

    let collected = collect_garbage(directory, [saved.digest()])?;
    // Each file is young.
    assert_eq!(collected.deleted, []);

    let imported = workspace.import::<Post>(&opened, OnConflict::Keep)?;
    assert_eq!((imported.written, imported.kept), (3, 0));
    Ok(())
}

#[test]
fn every_block_of_the_page_is_in_this_file() {
    check_blocks(PAGE, include_str!("packs_page.rs"), 12);
}
