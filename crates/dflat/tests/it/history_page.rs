//! The code of `docs/history.md` runs.

use std::io::{self, Read, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};

use dflat::history::{Change, KeepTrees, Merged, Served};
use dflat::{ErrorKind, Object, Result, Workspace};

use crate::guide_page::check_blocks;
use crate::post::{Post, PostChangeRequest, PostData};

const PAGE: &str = include_str!("../../../../docs/history.md");

fn open(path: &Path) -> Result<Workspace> {
    let workspace = Workspace::builder(path)
        .versioned::<Post>()
        .workspace_id(7)
        .author("Ann")
        .open()?;
    Ok(workspace)
}

fn put(workspace: &Workspace, priority: i32) -> Result<()> {
    workspace.perform_changes_blocking([Post::TABLE], |tx| {
        let data = PostData {
            title: "a".into(),
            priority,
            ..PostData::default()
        };
        tx.submit(PostChangeRequest::upsert(data)).map(drop)
    })
}

#[test]
fn examples_of_the_history_page_run() -> Result<()> {
    let directory = tempfile::tempdir().unwrap();
    let workspace = open(&directory.path().join("posts.db"))?;
    for build in workspace.history().tree_builds()? {
        println!(
            "{}: {} objects, done: {}",
            build.table, build.objects, build.is_done
        );
    }
    put(&workspace, 1)?;
    put(&workspace, 2)?;

    for step in workspace.history().log().take(20) {
        let step = step?;
        println!("{} {:?} {:?}", step.id.0, step.label, step.author);
    }
    let blamed = workspace.history().blame::<Post>("a")?;
    assert_eq!(blamed.len(), 2);

    let history = workspace.history();
    if let Some(undone) = history.undo()? {
        println!("{} objects are as before", undone.changed);
    }
    history.redo()?;
    assert_eq!(workspace.get::<Post>("a")?.unwrap().priority(), 2);

    let undone = match history.undo() {
        Err(error) if error.kind() == ErrorKind::OutOfDate => history.undo_rest()?,
        undone => undone?,
    };
    for conflict in undone.iter().flat_map(|undone| &undone.conflicts) {
        println!(
            "{} {:?} was changed by {:?}",
            conflict.table, conflict.key, conflict.steps
        );
    }
    assert_eq!(workspace.get::<Post>("a")?.unwrap().priority(), 1);

    let steps: Vec<_> = workspace.history().log().collect::<Result<_>>()?;
    let earlier = workspace.at(steps[1].id)?;
    let then = earlier.get::<Post>("a")?;
    let an_hour_ago = workspace.at_time(SystemTime::now() - Duration::from_secs(3600))?;
    assert_eq!(then.unwrap().priority(), 2);
    assert_eq!(an_hour_ago.fetch::<Post>().count()?, 0);

    workspace.history().forget::<Post>()?;
    assert_eq!(workspace.get::<Post>("a")?.unwrap().priority(), 1);
    Ok(())
}

fn delete(workspace: &Workspace, title: &str) -> Result<()> {
    workspace.perform_changes_blocking([Post::TABLE], |tx| {
        let post = tx.get::<Post>(title)?.unwrap();
        let request = PostChangeRequest::deletion(tx, &post)?.unwrap();
        tx.submit(request).map(drop)
    })
}

#[test]
fn example_of_a_forgotten_object_runs() -> Result<()> {
    let directory = tempfile::tempdir().unwrap();
    let workspace = open(&directory.path().join("posts.db"))?;
    put(&workspace, 1)?;
    workspace.history().commit("first")?;

    delete(&workspace, "a")?;
    let forgotten = workspace.history().forget_object::<Post>("a")?;
    println!("{} commits had it", forgotten.commits);
    workspace.purge()?;
    assert_eq!((forgotten.changes, forgotten.commits), (2, 1));
    Ok(())
}

#[test]
fn examples_of_commits_and_branches_run() -> Result<()> {
    let directory = tempfile::tempdir().unwrap();
    let workspace = open(&directory.path().join("posts.db"))?;
    put(&workspace, 1)?;

    let first = workspace.history().commit("first draft")?;
    let then = workspace.at(first)?;
    for commit in workspace.history().commits() {
        let commit = commit?;
        println!("{} {:?}", commit.id, commit.label);
    }
    assert_eq!(then.get::<Post>("a")?.unwrap().priority(), 1);

    put(&workspace, 2)?;
    let second = workspace.history().commit("second draft")?;
    for change in workspace.history().diff::<Post>(first, second)? {
        match change? {
            Change::Inserted(post) => println!("+ {}", post.title()),
            Change::Deleted(post) => println!("- {}", post.title()),
            Change::Updated { after, fields, .. } => println!("~ {} {fields:?}", after.title()),
            _ => {}
        }
    }

    let change = || put(&workspace, 3);
    let history = workspace.history();
    history.branch("draft")?;
    history.checkout("draft")?;
    change()?;
    history.checkout("main")?;
    let draft = workspace.at_branch("draft")?;
    for branch in history.branches()? {
        println!("{} {}", branch.name, branch.commit);
    }
    history.delete_branch("draft")?;
    assert_eq!(draft.get::<Post>("a")?.unwrap().priority(), 3);
    assert_eq!(workspace.get::<Post>("a")?.unwrap().priority(), 2);
    Ok(())
}

#[test]
fn example_of_a_merge_runs() -> Result<()> {
    let directory = tempfile::tempdir().unwrap();
    let workspace = open(&directory.path().join("posts.db"))?;
    put(&workspace, 1)?;
    workspace.history().branch("draft")?;
    put(&workspace, 2)?;
    workspace.history().checkout("draft")?;
    put(&workspace, 3)?;
    workspace.history().checkout("main")?;

    let merged = match workspace.history().merge("draft")? {
        Merged::Conflicts(mut pending) => {
            for conflict in pending.of::<Post>()? {
                if let (Some(ours), Some(theirs)) = (conflict.ours, conflict.theirs) {
                    let mut data = ours.to_data();
                    data.priority = ours.priority().max(theirs.priority());
                    pending.resolve(PostChangeRequest::upsert(data))?;
                }
            }
            pending.finish()?
        }
        merged => merged,
    };
    assert!(matches!(merged, Merged::Commit { .. }), "{merged:?}");

    let keep = KeepTrees {
        last: 20,
        labelled: true,
        ..KeepTrees::default()
    };
    let collected = workspace.history().collect_garbage(&keep)?;
    println!("{} nodes of {} bytes", collected.nodes, collected.bytes);
    assert_eq!((collected.commits, collected.nodes), (0, 0));
    assert_eq!(workspace.get::<Post>("a")?.unwrap().priority(), 3);
    Ok(())
}

#[test]
fn examples_of_sync_and_of_branches_of_other_files_run() -> Result<()> {
    let directory = tempfile::tempdir().unwrap();
    let there = open(&directory.path().join("laptop.db"))?;
    put(&there, 1)?;
    let first = there.history().commit("first")?;
    let (mut stream, mut other) = connection();
    let there = &there;
    let workspace = open(&directory.path().join("posts.db"))?;
    std::thread::scope(|scope| {
        scope.spawn(move || serve(there, &mut other).unwrap());
        let history = workspace.history();
        let laptop = history.remote("laptop");
        let pulled = laptop.pull(&mut stream, "main")?;
        println!("{} commits in {} bytes", pulled.commits, pulled.bytes);
        history.merge("laptop/main")?;
        laptop.push(&mut stream, "main")?;

        let laptop = history.remote("laptop").accept_forgotten();
        let pulled = laptop.pull(&mut stream, "main")?;
        assert_eq!(pulled.commits, 0);
        drop(stream);
        Result::<()>::Ok(())
    })?;
    assert_eq!(workspace.get::<Post>("a")?.unwrap().priority(), 1);

    let history = workspace.history();
    for branch in history.remote_branches()? {
        println!("{} {}", branch.name, branch.commit);
    }
    let theirs = workspace.at_branch("laptop/main")?;
    history.merge("laptop/main")?;
    history.branch_at("main-of-laptop", first)?;
    history.checkout("main-of-laptop")?;
    assert_eq!(theirs.get::<Post>("a")?.unwrap().priority(), 1);
    assert_eq!(history.remote_branches()?.len(), 1);
    assert_eq!(history.current_branch()?, "main-of-laptop");
    Ok(())
}

fn serve(workspace: &Workspace, stream: &mut (impl Read + Write)) -> Result<Served> {
    let served = workspace.history().server().accept_pushes().serve(stream)?;
    Ok(served)
}

/// One end of a connection.
struct End(io::PipeReader, io::PipeWriter);

fn connection() -> (End, End) {
    let ((one, to_one), (other, to_other)) = (io::pipe().unwrap(), io::pipe().unwrap());
    (End(one, to_other), End(other, to_one))
}

impl Read for End {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.read(bytes)
    }
}

impl Write for End {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.1.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.1.flush()
    }
}

#[test]
fn every_block_of_the_page_is_in_this_file() {
    check_blocks(PAGE, include_str!("history_page.rs"), 17);
}
