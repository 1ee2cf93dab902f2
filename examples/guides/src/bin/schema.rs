use dflat::{Result, Workspace};

dflat::include_schema!("message");

fn main() -> Result<()> {
    let workspace = Workspace::in_memory();
    let picture = Picture {
        file: Some("cow.png".to_owned()),
        at: Some(Position { x: 1.0, y: 2.5 }),
    };
    workspace.perform_changes_blocking([Message::TABLE], |tx| {
        tx.submit(MessageChangeRequest::creation(MessageData {
            id: 1,
            priority: Priority::High,
            tags: vec!["farm".to_owned()],
            content: Some(Content::Picture(picture)),
            ..MessageData::default()
        }))
    })?;

    let right = Message::CONTENT.as_::<Picture>().at().x().ge(1.0);
    for message in &workspace.fetch::<Message>().filter(right).all()? {
        println!("{:?} from {:?}", message.priority(), message.sender());
        match message.content() {
            Some(ContentRef::Picture(picture)) => println!("a picture: {:?}", picture.file()),
            Some(ContentRef::Text(text)) => println!("a text: {:?}", text.words()),
            _ => println!("nothing that this program knows"),
        }
    }
    workspace.shutdown()
}
