//! The seed's tour.

use std::sync::mpsc;

use dflat::{ErrorKind, FetchedResult, Object, SubscribedObject, UpdatedObject, Workspace};

use crate::post::{Color, Content, ContentRef, Post, PostChangeRequest, PostData, TextContent};

fn data(title: &str, priority: i32) -> PostData {
    PostData {
        title: title.into(),
        priority,
        ..PostData::default()
    }
}

#[test]
fn tour_runs_in_memory() {
    tour(&Workspace::in_memory());
}

#[cfg(feature = "sqlite")]
#[test]
fn tour_runs_on_a_file() {
    let directory = tempfile::tempdir().unwrap();
    tour(&Workspace::open(directory.path().join("post.db")).unwrap());
}

fn tour(workspace: &Workspace) {
    let post = create(workspace);
    let posts = read(workspace, &post);

    let (send, results) = mpsc::channel();
    let _results = workspace.subscribe(&posts, move |posts| {
        send.send(posts.unwrap().into_result()).unwrap();
    });
    let (send, objects) = mpsc::channel();
    let _object = workspace.subscribe(&post, move |event| send.send(event).unwrap());

    let updated = update(workspace, &post);
    assert_eq!(results.try_recv().unwrap()[0].priority(), 9);
    assert_eq!(
        objects.try_recv().unwrap(),
        SubscribedObject::Updated(updated)
    );

    create_again(workspace);
    let deletion = workspace.perform_changes([Post::TABLE], move |tx| {
        tx.submit(PostChangeRequest::deletion(tx, &post)?.unwrap())
    });
    assert!(matches!(
        deletion.wait().unwrap(),
        UpdatedObject::Deleted(_)
    ));
    assert!(results.try_recv().unwrap().is_empty());
    assert_eq!(objects.try_recv().unwrap(), SubscribedObject::Deleted);

    workspace.shutdown().unwrap();
    assert_eq!(
        workspace.fetch::<Post>().all().unwrap_err().kind(),
        ErrorKind::ShutDown
    );
}

fn create(workspace: &Workspace) -> Post {
    let creation = workspace.perform_changes([Post::TABLE], |tx| {
        let text = TextContent {
            text: Some("hello".into()),
        };
        let content = Some(Content::TextContent(text));
        let color = Color::Green;
        tx.submit(PostChangeRequest::creation(PostData {
            color,
            content,
            ..data("first", 7)
        }))
    });
    let UpdatedObject::Inserted(post) = creation.wait().unwrap() else {
        panic!("not inserted")
    };
    assert_eq!(post.title(), "first");
    let Some(ContentRef::TextContent(text)) = post.content() else {
        panic!("not a text")
    };
    assert_eq!(text.text(), Some("hello"));
    post
}

fn read(workspace: &Workspace, post: &Post) -> FetchedResult<Post> {
    assert_eq!(workspace.get::<Post>("first").unwrap().as_ref(), Some(post));
    let predicate = Post::CONTENT.as_::<TextContent>().text().eq("hello");
    let query = workspace
        .fetch::<Post>()
        .filter(Post::PRIORITY.gt(5) & predicate);
    let posts = query.all().unwrap();
    assert_eq!(posts.len(), 1);
    posts
}

fn update(workspace: &Workspace, post: &Post) -> Post {
    let post = post.clone();
    let update = workspace.perform_changes([Post::TABLE], move |tx| {
        let unchanged = PostChangeRequest::change(tx, &post)?.unwrap();
        assert!(matches!(tx.submit(unchanged)?, UpdatedObject::Identity(_)));
        let mut request = PostChangeRequest::change(tx, &post)?.unwrap();
        request.priority = 9;
        tx.submit(request)
    });
    let UpdatedObject::Updated(updated) = update.wait().unwrap() else {
        panic!("not updated")
    };
    assert_eq!(updated.priority(), 9);
    updated
}

fn create_again(workspace: &Workspace) {
    let creation = workspace.perform_changes([Post::TABLE], |tx| {
        let error = tx
            .submit(PostChangeRequest::creation(data("first", 1)))
            .unwrap_err();
        tx.submit(PostChangeRequest::creation(data("second", 1)))?;
        Ok(error)
    });
    let error = creation.wait().unwrap();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    let message = "cannot insert Post: another object has the primary key title = \"first\"";
    assert_eq!(error.to_string(), message);
}

#[test]
fn limit_of_zero_fetches_nothing_and_deep_conditions_are_refused() {
    let workspace = Workspace::in_memory();
    create(&workspace);
    assert!(
        workspace
            .fetch::<Post>()
            .limit(0)
            .first()
            .unwrap()
            .is_none()
    );
    let flat = (0..5_000).fold(Post::PRIORITY.eq(-1), |all, n| Post::PRIORITY.eq(n) | all);
    assert_eq!(
        workspace.fetch::<Post>().filter(flat).all().unwrap().len(),
        1
    );
    let deep = (0..1_000).fold(Post::PRIORITY.eq(7), |all, n| {
        (Post::PRIORITY.eq(n) | all) & Post::PRIORITY.ge(0)
    });
    let query = || workspace.fetch::<Post>().filter(deep.clone());
    assert_eq!(
        query().all().unwrap_err().kind(),
        ErrorKind::InvalidArgument
    );
    let refused = workspace.subscribe(query(), |_| {}).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
}

#[test]
fn a_query_of_another_workspace_is_refused() {
    let (one, other) = (Workspace::in_memory(), Workspace::in_memory());
    let refused = one.subscribe(other.fetch::<Post>(), |_| {}).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
}

#[test]
fn no_handler_starts_after_a_shutdown_began() {
    let workspace = Workspace::in_memory();
    let (send, done) = mpsc::channel();
    workspace.shutdown_then(move |outcome| send.send(outcome).unwrap());
    let late = workspace.perform_changes([Post::TABLE], |_| Ok(()));
    assert_eq!(late.wait().unwrap_err().kind(), ErrorKind::ShutDown);
    let error = workspace.get::<Post>("first").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ShutDown);
    assert_eq!(
        error.to_string(),
        "cannot fetch Post: the workspace is shut down"
    );
    done.recv().unwrap().unwrap();
}

#[test]
fn user_error_keeps_its_source() {
    let error = dflat::Error::user(Failure(std::io::Error::other("the root cause")));
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        (ErrorKind::User, "what failed")
    );
    assert!(error.downcast_ref::<Failure>().is_some());
    let source = std::error::Error::source(&error).unwrap();
    assert_eq!(source.to_string(), "the root cause");
    assert!(error.cause_as::<std::io::Error>().is_some());
}

/// An error of a program, with a cause.
#[derive(Debug)]
struct Failure(std::io::Error);

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("what failed")
    }
}

impl std::error::Error for Failure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

/// Inserts a post, lets it out of the handler, and undoes the insertion.
fn ghost(workspace: &Workspace) -> Post {
    let (send, escaped) = mpsc::channel();
    let undone = workspace.perform_changes([Post::TABLE], move |tx| {
        let inserted = tx.submit(PostChangeRequest::creation(data("ghost", 1)))?;
        send.send(inserted.into_object().unwrap()).unwrap();
        tx.abort();
        Ok(())
    });
    assert_eq!(undone.wait().unwrap_err().kind(), ErrorKind::Aborted);
    escaped.recv().unwrap()
}

fn undone_object_is_not_confused_with_its_successor(workspace: &Workspace) {
    let ghosts = [ghost(workspace), ghost(workspace)];
    let created = workspace.perform_changes([Post::TABLE], |tx| {
        let first = tx.submit(PostChangeRequest::creation(data("real", 2)))?;
        let second = tx.submit(PostChangeRequest::creation(data("other", 3)))?;
        Ok([first, second].map(|created| created.into_object().unwrap()))
    });
    let [first, second] = created.wait().unwrap();
    assert!(first.row_id() > ghosts[0].row_id().max(ghosts[1].row_id()));
    assert!(second.row_id() > first.row_id());
    let looked_up = workspace.perform_changes([Post::TABLE], move |tx| {
        for ghost in &ghosts {
            assert!(PostChangeRequest::change(tx, ghost)?.is_none());
            assert!(PostChangeRequest::deletion(tx, ghost)?.is_none());
        }
        Ok(())
    });
    looked_up.wait().unwrap();
    assert_eq!(workspace.get::<Post>("real").unwrap(), Some(first));
}

#[test]
fn undone_object_is_not_confused_with_its_successor_in_memory() {
    undone_object_is_not_confused_with_its_successor(&Workspace::in_memory());
}

#[cfg(feature = "sqlite")]
#[test]
fn undone_object_is_not_confused_with_its_successor_in_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("post.db");
    undone_object_is_not_confused_with_its_successor(&Workspace::open(path).unwrap());
}

#[test]
fn object_of_another_workspace_is_looked_up_by_its_key() {
    let (one, other) = (Workspace::in_memory(), Workspace::in_memory());
    let insert = |workspace: &Workspace, titles: [&'static str; 2]| {
        let inserted = workspace.perform_changes([Post::TABLE], move |tx| {
            for title in titles {
                tx.submit(PostChangeRequest::creation(data(title, 1)))?;
            }
            Ok(())
        });
        inserted.wait().unwrap();
    };
    insert(&one, ["a", "b"]);
    insert(&other, ["b", "c"]);
    let (strangers, b) = (
        other.fetch::<Post>().all().unwrap(),
        other.get::<Post>("b").unwrap(),
    );

    // Row id 1 is "b" there and "a" here.
    let stranger = b.clone().unwrap();
    let (send, events) = mpsc::channel();
    let _object = one.subscribe(&stranger, move |event| send.send(event).unwrap());
    let (send, deliveries) = mpsc::channel();
    let _subscription = one.subscribe(&strangers, move |posts| {
        send.send(posts.unwrap().into_result()).unwrap();
    });
    let deletion = one.perform_changes([Post::TABLE], move |tx| {
        tx.submit(PostChangeRequest::deletion(tx, &b.unwrap())?.unwrap())
    });
    deletion.wait().unwrap();
    let titles = |posts: &[Post]| {
        posts
            .iter()
            .map(|p| p.title().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(titles(&one.fetch::<Post>().all().unwrap()), ["a"]);
    assert_eq!(
        titles(&deliveries.recv().unwrap()),
        ["a", "b"],
        "what it missed comes first"
    );
    assert_eq!(titles(&deliveries.recv().unwrap()), ["a"]);
    assert_eq!(
        events.try_iter().collect::<Vec<_>>(),
        [SubscribedObject::Deleted]
    );
}
