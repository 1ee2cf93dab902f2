//! Optional values in conditions, lists of conditions, the names of enums and bit flags, and the
//! forms of handlers.

use std::error::Error;
use std::num::ParseIntError;

use dflat::{
    ErrorKind, Performer, Predicate, Result, TransactionContext, TransactionHandle, Workspace,
};

use crate::flags::{Rights, Roles};
use crate::post::{Color, Post, PostChangeRequest, PostData};
use crate::required;

fn posts() -> Result<Workspace> {
    let workspace = Workspace::in_memory();
    workspace.perform_changes_blocking([Post::TABLE], |tx| {
        for (title, tag, priority) in [("a", None, 1), ("b", Some("new"), 2), ("c", Some("old"), 3)]
        {
            let data = PostData {
                title: title.into(),
                tag: tag.map(Into::into),
                priority,
                ..PostData::default()
            };
            tx.submit(PostChangeRequest::creation(data))?;
        }
        Ok(())
    })?;
    Ok(workspace)
}

fn titles(workspace: &Workspace, condition: Predicate<Post>) -> Result<String> {
    let posts = workspace.fetch::<Post>().filter(condition).all()?;
    Ok(posts.iter().map(Post::title).collect())
}

#[test]
fn none_in_a_comparison_stands_for_a_missing_value() -> Result<()> {
    let workspace = posts()?;
    let owned = Some("new".to_owned());
    for (condition, expected) in [
        (Post::TAG.eq(None), "a"),
        (Post::TAG.ne(None), "bc"),
        (Post::TAG.eq(owned.as_deref()), "b"),
        (Post::TAG.ne(Some("new")), "c"),
        (Post::TAG.in_([None, Some("old")]), "ac"),
        (Post::TAG.in_([None::<&str>]), "a"),
        (Post::TAG.not_in([None, Some("old")]), "b"),
        (Post::TAG.lt(None), ""),
        (Post::PRIORITY.eq(Some(2)), "b"),
        (Post::PRIORITY.eq(None), ""),
        (Post::COLOR.ne(None), "abc"),
    ] {
        assert_eq!(
            titles(&workspace, condition.clone())?,
            expected,
            "{condition}"
        );
    }
    Ok(())
}

#[test]
fn lists_of_conditions_and_optional_filters_need_no_branch() -> Result<()> {
    let workspace = posts()?;
    let at_least = |least| Post::PRIORITY.ge(least);
    let at_most = |most| Post::PRIORITY.le(most);
    let optional = |least: Option<i32>, most: Option<i32>| {
        Predicate::all(
            [least.map(at_least), most.map(at_most)]
                .into_iter()
                .flatten(),
        )
    };
    assert_eq!(titles(&workspace, optional(None, None))?, "abc");
    assert_eq!(titles(&workspace, optional(Some(2), None))?, "bc");
    assert_eq!(titles(&workspace, optional(Some(2), Some(2)))?, "b");
    let any = |numbers: &[i32]| Predicate::any(numbers.iter().map(|n| Post::PRIORITY.eq(*n)));
    assert_eq!(titles(&workspace, any(&[]))?, "");
    assert_eq!(titles(&workspace, any(&[1, 3]))?, "ac");
    for (least, expected) in [(None, 3), (Some(3), 1)] {
        let query = workspace.fetch::<Post>().filter_opt(least.map(at_least));
        assert_eq!(query.count()?, expected);
    }
    // Many conditions do not nest.
    let many = Predicate::all((0..1000).map(|n| Post::PRIORITY.ne(n)));
    assert_eq!(titles(&workspace, many)?, "");
    Ok(())
}

#[test]
fn enums_are_written_and_read_by_name() {
    for color in Color::ALL {
        assert_eq!(color.to_string(), color.name());
        assert_eq!(color.name().parse::<Color>().unwrap(), color);
        assert_eq!(Color::from_name(color.name()), Some(color));
    }
    assert_eq!(format!("{:>6}|", Color::Red), "   Red|");
    assert_eq!(Color::from_name("red"), None);
    let error = "red".parse::<Color>().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let message = "cannot read \"red\" as Color: the names are Red, Green, Blue";
    assert_eq!(error.to_string(), message);
}

#[test]
fn bit_flags_are_written_and_read_by_name() {
    for (flags, text) in [
        (Rights::empty(), ""),
        (Rights::READ, "Read"),
        (Rights::READ | Rights::WRITE, "Read | Write"),
        (Rights::from_bits(0b101), "Read | 0x4"),
        (Rights::from_bits(0xFF), "Read | Write | All | 0x7c"),
    ] {
        assert_eq!(flags.to_string(), text);
        assert_eq!(text.parse::<Rights>().unwrap(), flags);
    }
    assert_eq!("Write|Read".parse::<Rights>().unwrap().bits(), 3);
    for (flags, text) in [
        (Roles::GUEST | Roles::ROOT, "Guest | Root"),
        (Roles::from_bits(-1 ^ 0b11), "Root | 0xbffffffc"),
        (Roles::from_bits(i32::MIN), "0x80000000"),
    ] {
        assert_eq!(flags.to_string(), text);
        assert_eq!(text.parse::<Roles>().unwrap(), flags);
    }
    assert!("0x100000000".parse::<Roles>().is_err());
    assert_eq!(Rights::from_name("Write"), Some(Rights::WRITE));
    assert_eq!(Rights::from_name("Read | Write"), None);
    for text in ["read", "Read |", "|", "0x", "0x100", "0x-1", "7"] {
        let error = text.parse::<Rights>().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{text}");
    }
}

#[test]
fn conditions_on_strings_that_are_never_absent_are_sent_and_read() {
    for condition in [
        required::Post::TITLE.eq("a"),
        required::Post::TITLE.eq(""),
        required::Post::AUTHOR.name().ne("a"),
        required::Post::AUTHOR.link().title().eq("a"),
        required::Post::CONTENT
            .as_::<required::Link>()
            .title()
            .eq("a"),
        required::Post::CONTENT
            .as_::<required::Note>()
            .text()
            .eq("a"),
        required::Post::SHELF.id().eq("a"),
        required::Post::SHELF.row().eq("a"),
    ] {
        let bytes = condition.to_bytes().unwrap();
        let read = Predicate::<required::Post>::from_bytes(&bytes);
        let read = read.unwrap_or_else(|error| panic!("{condition}: {error}"));
        assert_eq!(read.to_bytes().unwrap(), bytes, "{condition}");
    }
}

fn create(tx: &TransactionContext) -> Result<()> {
    tx.submit(PostChangeRequest::upsert(PostData::default()))?;
    Ok(())
}

#[test]
fn handlers_that_name_no_error_type_have_that_of_the_library() -> Result<()> {
    struct App {
        pending: Vec<TransactionHandle<()>>,
    }
    let workspace = Workspace::in_memory();
    let mut app = App {
        pending: Vec::new(),
    };
    app.pending
        .push(workspace.perform_changes([Post::TABLE], create));
    app.pending
        .push(workspace.perform_changes([Post::TABLE], |_| Ok(())));
    workspace
        .perform_changes([Post::TABLE], |tx| {
            let posts = tx.fetch::<Post>().count()?;
            Ok(posts > 0)
        })
        .detach();
    workspace
        .perform_changes_retrying([Post::TABLE], |tx| tx.get::<Post>(""))
        .wait()?;
    workspace.perform_changes_blocking([Post::TABLE], |tx| {
        create(tx)?;
        tx.nested(|tx| {
            create(tx)?;
            Ok(())
        })?;
        Ok(())
    })?;
    workspace.perform_changes_blocking_retrying([Post::TABLE], |_| Ok(()))?;
    let performer: Performer<'_> = workspace.write_first();
    performer
        .perform_changes([Post::TABLE], create)
        .on_completion(|outcome| outcome.unwrap());
    app.pending.into_iter().try_for_each(|handle| handle.wait())
}

#[derive(Debug)]
enum MyError {
    Parse(ParseIntError),
    Database(dflat::Error),
}

impl From<dflat::Error> for MyError {
    fn from(error: dflat::Error) -> Self {
        Self::Database(error)
    }
}

impl From<ParseIntError> for MyError {
    fn from(error: ParseIntError) -> Self {
        Self::Parse(error)
    }
}

#[test]
fn handlers_may_have_errors_that_are_made_of_those_of_the_library() {
    type BoxError = Box<dyn Error + Send + Sync>;
    let workspace = Workspace::in_memory();
    let performer = workspace.write_first().with_error::<MyError>();
    let handle: TransactionHandle<i32, MyError> =
        performer.perform_changes([Post::TABLE], |_| Ok("x".parse()?));
    let parsed = handle.wait().unwrap_err();
    assert!(matches!(parsed, MyError::Parse(error) if error.to_string().contains("invalid digit")));
    let refused = performer.perform_changes_blocking([Post::TABLE], |tx| {
        tx.submit(PostChangeRequest::creation(PostData::default()))?;
        Ok(tx.submit(PostChangeRequest::creation(PostData::default()))?)
    });
    let refused = refused.map(drop).unwrap_err();
    assert!(
        matches!(&refused, MyError::Database(error) if error.kind() == ErrorKind::AlreadyExists)
    );
    let boxed = workspace.with_error::<BoxError>();
    let count = boxed.perform_changes_blocking([Post::TABLE], |tx| {
        let count: usize = "0".parse()?;
        Ok(count + tx.fetch::<Post>().count()?)
    });
    assert_eq!(count.unwrap(), 0);
}
