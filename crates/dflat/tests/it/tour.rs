//! The seed's tour.

use std::sync::mpsc;

use dflat::{ErrorKind, SubscribedObject, UpdatedObject, Workspace};

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
    let created = workspace
        .perform_changes([Post::TABLE], |tx| {
            let text = TextContent {
                text: Some("hello".into()),
            };
            let content = Some(Content::TextContent(text));
            tx.submit(PostChangeRequest::creation(PostData {
                color: Color::Green,
                content,
                ..data("first", 7)
            }))
        })
        .wait()
        .unwrap();
    let UpdatedObject::Inserted(post) = created else {
        panic!("{created:?}")
    };
    assert_eq!(post.title(), "first");
    let Some(ContentRef::TextContent(text)) = post.content() else {
        panic!()
    };
    assert_eq!(text.text(), Some("hello"));

    let found = workspace.get::<Post>("first").unwrap().unwrap();
    assert_eq!(found, post);
    let posts = workspace
        .fetch::<Post>()
        .filter(Post::PRIORITY.gt(5) & Post::CONTENT.as_::<TextContent>().text().eq("hello"))
        .all()
        .unwrap();
    assert_eq!(posts.len(), 1);

    let (send, deliveries) = mpsc::channel();
    let results = workspace.subscribe(&posts, move |posts| send.send(posts.unwrap()).unwrap());
    let (send, objects) = mpsc::channel();
    let object = workspace.subscribe(&post, move |event| send.send(event).unwrap());

    let again = post.clone();
    let updated = workspace
        .perform_changes([Post::TABLE], move |tx| {
            let mut request = PostChangeRequest::change(tx, &again)?.unwrap();
            assert!(matches!(
                tx.submit(PostChangeRequest::change(tx, &again)?.unwrap())?,
                UpdatedObject::Identity(_)
            ));
            request.priority = 9;
            tx.submit(request)
        })
        .wait()
        .unwrap();
    assert!(matches!(&updated, UpdatedObject::Updated(post) if post.priority() == 9));
    assert_eq!(deliveries.try_recv().unwrap()[0].priority(), 9);
    assert_eq!(
        objects.try_recv().unwrap(),
        SubscribedObject::Updated(updated.object().unwrap().clone())
    );

    let error = workspace
        .perform_changes([Post::TABLE], |tx| {
            let error = tx
                .submit(PostChangeRequest::creation(data("first", 1)))
                .unwrap_err();
            tx.submit(PostChangeRequest::creation(data("second", 1)))?;
            Ok(error)
        })
        .wait()
        .unwrap();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    assert_eq!(
        error.to_string(),
        "cannot insert Post: another object has the primary key title = \"first\""
    );

    workspace
        .perform_changes([Post::TABLE], move |tx| {
            tx.submit(PostChangeRequest::deletion(tx, &post)?.unwrap())
        })
        .wait()
        .unwrap();
    assert!(deliveries.try_recv().unwrap().is_empty());
    assert_eq!(objects.try_recv().unwrap(), SubscribedObject::Deleted);
    drop((results, object));
    workspace.shutdown().unwrap();
    assert_eq!(
        workspace.fetch::<Post>().all().unwrap_err().kind(),
        ErrorKind::ShutDown
    );
}
