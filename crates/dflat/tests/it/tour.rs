//! The seed's tour.

use std::sync::mpsc;

use dflat::{ErrorKind, FetchedResult, SubscribedObject, UpdatedObject, Workspace};

use crate::post::{Color, Content, ContentRef, Post, PostChangeRequest, PostData, TextContent};

fn data(title: &str, priority: i32) -> PostData {
    PostData {
        title: title.into(),
        priority,
        ..PostData::default()
    }
}

#[test]
fn the_tour_on_memory() {
    tour(&Workspace::in_memory());
}

#[cfg(feature = "sqlite")]
#[test]
fn the_tour_on_a_file() {
    let directory = tempfile::tempdir().unwrap();
    tour(&Workspace::open(directory.path().join("post.db")).unwrap());
}

fn tour(workspace: &Workspace) {
    let post = create(workspace);
    let posts = read(workspace, &post);

    let (send, results) = mpsc::channel();
    let _results = workspace.subscribe(&posts, move |posts| send.send(posts.unwrap()).unwrap());
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
