//! Objects and values as bytes.

use dflat::{ErrorKind, Object, Payload, RowId, Workspace};

use crate::post::{Color, Content, Post, PostChangeRequest, PostData, TextContent};

fn data() -> PostData {
    PostData {
        title: "a".into(),
        color: Color::Blue,
        content: Some(Content::TextContent(TextContent {
            text: Some("text".into()),
        })),
        ..PostData::default()
    }
}

#[test]
fn object_read_from_bytes_is_looked_up_by_its_key() {
    let workspace = Workspace::in_memory();
    let created = workspace.perform_changes([Post::TABLE], |tx| {
        tx.submit(PostChangeRequest::creation(data()))
    });
    let created = created.wait().unwrap().into_object().unwrap();
    let bytes = created.to_bytes();
    assert_eq!(bytes, data().to_bytes().unwrap());

    let copy = Post::from_bytes(&bytes).unwrap();
    assert_eq!((&copy, copy.row_id()), (&created, RowId(0)));
    let stranger = Post::from_bytes(&PostData::default().to_bytes().unwrap()).unwrap();
    let changed = workspace.perform_changes([Post::TABLE], move |tx| {
        assert!(PostChangeRequest::change(tx, &stranger)?.is_none());
        let mut request = PostChangeRequest::change(tx, &copy)?.unwrap();
        request.priority = 7;
        tx.submit(request)
    });
    let changed = changed.wait().unwrap().into_object().unwrap();
    assert_eq!(
        (changed.row_id(), changed.priority()),
        (created.row_id(), 7)
    );
}

#[test]
fn malformed_payloads_are_refused() {
    let bytes = data().to_bytes().unwrap();
    for len in 0..bytes.len() {
        let object = Post::from_bytes(&bytes[..len]);
        let values = PostData::from_bytes(&bytes[..len]);
        assert_eq!(object.is_ok(), values.is_ok());
        if let Err(error) = values {
            assert_eq!(error.kind(), ErrorKind::Corrupt);
            assert_eq!(
                error.to_string(),
                "cannot read the payload of a Post: it is malformed"
            );
            assert_eq!(object.unwrap_err().to_string(), error.to_string());
        }
    }
    assert!(Post::from_bytes(&[]).is_err());
}
