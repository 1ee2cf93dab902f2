//! The work as a program does it that uses this library.

use std::time::Duration;

use dflat::{Object, Workspace};
use dflat_testkit::post::{Post, PostChangeRequest, PostData};

use crate::server::{Server, new_schema};
use crate::{OBJECTS, timed};

/// The object with a number, of about 1 KiB.
pub(crate) fn data(number: usize) -> PostData {
    PostData {
        title: title(number),
        priority: number as i32,
        tag: Some("x".repeat(960)),
        ..PostData::default()
    }
}

pub(crate) fn title(number: usize) -> String {
    format!("post {number:06}")
}

pub(crate) struct Dflat {
    /// Opens an empty workspace.
    open: Box<dyn Fn() -> Workspace>,
    /// Has all objects.
    pub(crate) full: Workspace,
}

impl Dflat {
    pub(crate) fn new(open: impl Fn() -> Workspace + 'static) -> Self {
        let full = open();
        insert(&full);
        let open = Box::new(open);
        Self { open, full }
    }

    pub(crate) fn on(server: &Server) -> Self {
        let address = server.address();
        Self::new(move || {
            let builder = Workspace::server(&address).schema(new_schema());
            builder.open().unwrap()
        })
    }

    fn update(&self, objects: Vec<Post>) {
        let handles = objects.into_iter().map(|post| {
            self.full.perform_changes([Post::TABLE], move |tx| {
                let request = PostChangeRequest::change(tx, &post)?;
                let mut request = request.expect("it is stored");
                request.priority += 1;
                tx.submit(request).map(drop)
            })
        });
        // All are queued before one is waited for.
        let handles: Vec<_> = handles.collect();
        for handle in handles {
            handle.wait().unwrap();
        }
    }

    pub(crate) fn gets(&self, count: usize) -> Duration {
        gets(&self.full, count)
    }

    pub(crate) fn insert_many(&self) -> Duration {
        let workspace = (self.open)();
        prepare(&workspace);
        timed(|| insert(&workspace))
    }

    pub(crate) fn insert_each(&self, count: usize) -> Duration {
        let workspace = (self.open)();
        prepare(&workspace);
        timed(|| {
            let made = workspace.perform_changes([Post::TABLE], move |tx| {
                let mut numbers = 0..count;
                numbers.try_for_each(|number| {
                    tx.submit(PostChangeRequest::creation(data(number)))
                        .map(drop)
                })
            });
            made.wait().unwrap();
        })
    }

    pub(crate) fn update_each(&self, count: usize) -> Duration {
        let objects = self.full.fetch::<Post>().limit(count).all().unwrap();
        let objects: Vec<Post> = objects.iter().cloned().collect();
        timed(|| self.update(objects))
    }

    pub(crate) fn update_alone(&self, count: usize) -> Duration {
        let objects = self.full.fetch::<Post>().limit(count).all().unwrap();
        timed(|| {
            for post in objects.iter() {
                self.update(vec![post.clone()]);
            }
        })
    }

    pub(crate) fn scan(&self) -> Duration {
        scan(&self.full)
    }
}

/// Reads single objects by their keys.
pub(crate) fn gets(workspace: &Workspace, count: usize) -> Duration {
    timed(|| {
        for number in 0..count {
            let key = title(number * 7919 % OBJECTS);
            let post = workspace.get::<Post>(&key).unwrap().unwrap();
            assert_eq!(post.title(), key);
        }
    })
}

/// Reads all objects.
pub(crate) fn scan(workspace: &Workspace) -> Duration {
    timed(|| {
        let all = workspace.fetch::<Post>().all().unwrap();
        let bytes: usize = all.iter().map(|post| post.tag().map_or(0, str::len)).sum();
        assert_eq!((all.len(), bytes), (OBJECTS, 960 * OBJECTS));
        assert!(all.iter().next().is_some_and(|post| post.row_id().0 > 0));
    })
}

/// Creates the tables, and has the connection that writes prepare its statements.
fn prepare(workspace: &Workspace) {
    let prepared = workspace.perform_changes([Post::TABLE], |tx| {
        let mut data = data(0);
        data.title = "prepared".to_owned();
        let made = tx.submit_many([PostChangeRequest::creation(data.clone())]);
        let made = made
            .into_iter()
            .next()
            .expect("an outcome")?
            .into_object()
            .expect("an object");
        let deletion = PostChangeRequest::deletion(tx, &made)?.expect("it is stored");
        tx.submit(deletion)?;
        let made = tx
            .submit(PostChangeRequest::creation(data))?
            .into_object()
            .expect("an object");
        tx.submit(PostChangeRequest::deletion(tx, &made)?.expect("it is stored"))
            .map(drop)
    });
    prepared.wait().unwrap();
}

fn insert(workspace: &Workspace) {
    let made = workspace.perform_changes([Post::TABLE], |tx| {
        let requests = (0..OBJECTS).map(|number| PostChangeRequest::creation(data(number)));
        tx.submit_many(requests)
            .into_iter()
            .try_for_each(|made| made.map(drop))
    });
    made.wait().unwrap();
}
