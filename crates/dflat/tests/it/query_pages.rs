//! The code of `docs/queries.md` and `docs/modelling.md` runs: each block and each cell of the
//! table is, blanks aside, in this file.

use std::time::Duration;

use dflat::{
    Cancellation, Cursor, Predicate, Result, TransactionContext, VectorField, Workspace, query,
};

use crate::bench_doc::{BenchDoc, BenchDocChangeRequest, BenchDocData, Vec3};
use crate::flags::{Rights, User, UserChangeRequest, UserData};
use crate::post::{Color, Content, ImageContent, Post, PostChangeRequest, PostData, TextContent};

const QUERIES: &str = include_str!("../../../../docs/queries.md");
const MODELLING: &str = include_str!("../../../../docs/modelling.md");

fn some_posts() -> Result<Workspace> {
    let workspace = Workspace::in_memory();
    let created = workspace.perform_changes([Post::TABLE], |tx| {
        for (title, priority, tag) in [("a", 150, None), ("b", 7, Some("a")), ("c", -3, Some("x"))]
        {
            let text = TextContent {
                text: Some("a".into()),
            };
            tx.submit(PostChangeRequest::creation(PostData {
                title: title.into(),
                priority,
                tag: tag.map(Into::into),
                content: (priority > 0).then_some(Content::TextContent(text)),
                ..PostData::default()
            }))?;
        }
        Ok(())
    });
    created.wait()?;
    Ok(workspace)
}

fn images() -> VectorField<Post, str> {
    Post::CONTENT.as_::<ImageContent>().images()
}

#[test]
fn conditions_of_the_page_select_different_objects() -> Result<()> {
    let workspace = some_posts()?;
    let a = || Post::PRIORITY.eq(150);
    let b = || Post::COLOR.eq(Color::Red);
    let place = || workspace.fetch::<Post>().first().map(drop);
    place()?;
    let titles = |predicate: Predicate<Post>| -> Result<String> {
        let found = workspace.fetch::<Post>().filter(predicate).all()?;
        Ok(found.iter().map(Post::title).collect())
    };
    for (predicate, expected) in [
        (Post::PRIORITY.eq(1), ""),
        (Post::PRIORITY.ne(1), "abc"),
        (Post::PRIORITY.lt(1), "c"),
        (Post::PRIORITY.le(1), "c"),
        (Post::PRIORITY.gt(1), "ab"),
        (Post::PRIORITY.ge(1), "ab"),
        (Post::PRIORITY.between(1, 5), ""),
        (Post::PRIORITY.in_([1, 2]), ""),
        (Post::PRIORITY.not_in([1, 2]), "abc"),
        (Post::TAG.is_null(), "a"),
        (Post::TAG.is_not_null(), "bc"),
        (Post::TAG.eq(Post::TITLE), ""),
        ((Post::PRIORITY * 2 + 1).gt(7), "ab"),
        (((Post::PRIORITY - 1) / 2).eq(3), "b"),
        ((10 % Post::PRIORITY).eq(1), "c"),
        (Post::TITLE.len().lt(9), "abc"),
        (Post::TITLE.starts_with("a"), "a"),
        (Post::TITLE.ends_with("a"), "a"),
        (Post::TITLE.contains("a"), "a"),
        (Post::TITLE.like("a%_"), ""),
        (Post::TITLE.ignore_case().like("a%_"), ""),
        (Post::TITLE.ignore_case().eq("A"), "a"),
        (a() & b(), "a"),
        (a() | b(), "abc"),
        (!a(), "bc"),
        (Post::CONTENT.tag().eq(0), "c"),
        (Post::CONTENT.tag().in_([1, 2]), "ab"),
        (Predicate::<Post>::all([]), "abc"),
        (Post::CONTENT.matches::<TextContent>(), "ab"),
        (Post::CONTENT.as_::<TextContent>().text().eq("a"), "ab"),
    ] {
        assert_eq!(titles(predicate.clone())?, expected, "{predicate}");
    }
    Ok(())
}

#[test]
fn conditions_on_members_of_the_page_select_different_objects() -> Result<()> {
    let workspace = some_posts()?;
    let created = workspace.perform_changes([Post::TABLE], |tx| {
        let posts: [(&str, &[&str]); 3] =
            [("d", &[]), ("e", &["x.png"]), ("f", &["a", "y.png", "z"])];
        for (title, images) in posts {
            let images = images.iter().map(|image| (*image).to_owned()).collect();
            let content = Content::ImageContent(ImageContent { images });
            tx.submit(PostChangeRequest::creation(PostData {
                title: title.into(),
                content: Some(content),
                ..PostData::default()
            }))?;
        }
        Ok(())
    });
    created.wait()?;
    for (predicate, expected) in [
        (images().any(|image| image.ends_with(".png")), "ef"),
        (images().all(|image| image.ends_with(".png")), "de"),
        (images().is_empty(), "d"),
        (images().contains("a"), "f"),
        (images().len().gt(2), "f"),
        (!images().contains("a"), "de"),
    ] {
        let found = workspace.fetch::<Post>().filter(predicate.clone()).all()?;
        let titles: String = found.iter().map(Post::title).collect();
        assert_eq!(titles, expected, "{predicate}");
    }
    Ok(())
}

#[test]
fn conditions_on_flags_and_structs_of_the_page_select_different_objects() -> Result<()> {
    let workspace = Workspace::in_memory();
    let created = workspace.perform_changes([User::TABLE, BenchDoc::TABLE], |tx| {
        for (id, rights) in (0..).zip([Rights::empty(), Rights::READ, both()]) {
            let data = UserData {
                id,
                rights,
                ..UserData::default()
            };
            tx.submit(UserChangeRequest::creation(data))?;
        }
        for (title, x) in [("near", 1.5), ("far", 2.5)] {
            let data = BenchDocData {
                title: title.into(),
                pos: Some(Vec3 { x, y: 0.0, z: 0.0 }),
                ..BenchDocData::default()
            };
            tx.submit(BenchDocChangeRequest::creation(data))?;
        }
        Ok(())
    });
    created.wait()?;
    for (predicate, expected) in [
        (User::RIGHTS.has_all(both()), 1),
        (User::RIGHTS.has_any(both()), 2),
    ] {
        let found = workspace
            .fetch::<User>()
            .filter(predicate.clone())
            .count()?;
        assert_eq!(found, expected, "{predicate}");
    }
    let far = workspace
        .fetch::<BenchDoc>()
        .filter(BenchDoc::POS.x().gt(1.5));
    assert_eq!(far.select(BenchDoc::TITLE)?, ["far"]);
    Ok(())
}

fn both() -> Rights {
    Rights::READ | Rights::WRITE
}

#[test]
fn results_on_the_page_are_right() -> Result<()> {
    let workspace = some_posts()?;
    let fetch = || workspace.fetch::<Post>();
    let titles = |fetch: dflat::Fetch<'_, Post>| -> Result<String> {
        Ok(fetch.all()?.iter().map(Post::title).collect())
    };
    assert_eq!(
        titles(fetch().order_by(Post::PRIORITY.descending()))?,
        "abc"
    );
    assert_eq!(
        titles(fetch().order_by(Post::TAG.ascending().nulls_last()))?,
        "bca"
    );
    assert_eq!(
        titles(fetch().order_by(Post::TAG.descending().nulls_first()))?,
        "acb"
    );
    let texts = fetch().order_by(Post::CONTENT.as_::<TextContent>().text().ascending());
    assert_eq!(titles(texts)?, "cab");
    let own = fetch().order_by(
        Post::COLOR
            .position_in(&[Color::Blue, Color::Red])
            .ascending(),
    );
    assert_eq!(titles(own)?, "abc");
    assert_eq!(titles(fetch().offset(20).limit(10))?, "");
    let cursor = fetch().limit(1).all()?.end().expect("there is an object");
    assert_eq!(titles(fetch().after(cursor))?, "bc");
    assert_eq!(fetch().count()?, 3);
    assert!(fetch().exists()?);
    assert_eq!(fetch().min(Post::PRIORITY)?, Some(-3));
    assert_eq!(fetch().max(Post::PRIORITY)?, Some(150));
    let first = fetch().first()?;
    assert_eq!(first, workspace.get::<Post>("a")?);
    assert_eq!(workspace.get_many::<Post>(["a", "x"])?, [first, None]);
    let twice = fetch().select(Post::PRIORITY * 2)?;
    assert_eq!(twice, [Some(300), Some(14), Some(-6)]);
    let (sum, mean) = (fetch().sum(Post::PRIORITY)?, fetch().avg(Post::PRIORITY)?);
    assert_eq!((sum, mean), (Some(154), Some(154.0 / 3.0)));
    let groups = fetch().group_by(Post::COLOR).sum(Post::PRIORITY).all()?;
    assert_eq!((groups[0].count, groups[0].sum), (3, Some(154)));
    assert_eq!(fetch().select((Post::TITLE, Post::PRIORITY))?.len(), 3);
    assert_eq!(fetch().explain()?.to_string(), "all rows");
    let write = |tx: &TransactionContext| {
        let a = || Post::PRIORITY.eq(150);
        tx.update_where(a(), |post| post.color = Color::Red)?;
        tx.delete_where(a())?;
        Ok(())
    };
    workspace.perform_changes([Post::TABLE], write).wait()?;
    assert_eq!(fetch().count()?, 2);
    Ok(())
}

#[test]
fn blocks_of_the_page_on_queries_run() -> Result<()> {
    let workspace = some_posts()?;
    let urgent = workspace
        .fetch::<Post>()
        .filter(Post::PRIORITY.gt(100) & Post::COLOR.ne(Color::Blue))
        .order_by(Post::PRIORITY.descending())
        .order_by(Post::TITLE.ascending())
        .limit(20)
        .all()?;
    assert_eq!(urgent.len(), 1);

    let least = 100;
    let urgent = query!(Post: priority > { least } && color != Color::Blue);
    assert_eq!(workspace.fetch().filter(urgent).count()?, 1);

    let by_priority = || {
        workspace
            .fetch::<Post>()
            .order_by(Post::PRIORITY.descending())
    };
    let page = by_priority().limit(50).all()?;
    if let Some(cursor) = page.end() {
        let bytes = cursor.to_bytes(); // Into a link, say.
        let next = by_priority()
            .after(Cursor::from_bytes(&bytes)?)
            .limit(50)
            .all()?;
        assert!(next.len() <= 50);
    }

    for post in workspace.fetch::<Post>().iter()? {
        println!("{}", post?.title());
    }

    let cancellation = Cancellation::new();
    let found = workspace
        .fetch::<Post>()
        .filter(Post::TITLE.contains("needle"))
        .timeout(Duration::from_secs(2))
        .cancelled_by(&cancellation)
        .all();
    assert!(found?.is_empty());

    let plan = workspace
        .fetch::<Post>()
        .filter(Post::PRIORITY.gt(100))
        .explain()?;
    assert_eq!(plan.to_string(), "range of the index on priority, sort");
    Ok(())
}

#[test]
fn blocks_of_the_page_on_modelling_run() -> Result<()> {
    let workspace = some_posts()?;
    let posts = workspace.fetch::<Post>().all()?;
    let post = &posts[1];
    let parent: Option<Post> = match post.tag() {
        Some(title) => workspace.get::<Post>(title)?,
        None => None,
    };
    assert_eq!(parent.as_ref().map(Post::title), Some("a"));

    let titles = posts.iter().filter_map(|post| post.tag());
    let parents: Vec<Option<Post>> = workspace.get_many::<Post>(titles)?;
    assert_eq!(
        parents.iter().map(Option::is_some).collect::<Vec<_>>(),
        [true, false]
    );

    let post = &posts[0];
    let children = workspace
        .fetch::<Post>()
        .filter(Post::TAG.eq(post.title()))
        .all()?;
    assert_eq!(children.len(), 1);

    let with_text = workspace
        .fetch::<Post>()
        .filter(Post::CONTENT.matches::<TextContent>());
    let texts = with_text.select(Post::CONTENT.as_::<TextContent>().text())?;
    assert_eq!(texts, [Some("a".to_owned()), Some("a".to_owned())]);

    let rows = workspace
        .fetch::<Post>()
        .limit(50)
        .select((Post::TITLE, Post::PRIORITY))?;
    let total = workspace.fetch::<Post>().count()?;
    assert_eq!(rows.len(), total);

    let (page, total) = workspace.fetch_within_a_snapshot(|snapshot| {
        let page = snapshot.fetch::<Post>().limit(50).all()?;
        Ok((page, snapshot.fetch::<Post>().count()?))
    })?;
    assert_eq!(page.len(), total);

    let changed = workspace.perform_changes_retrying([Post::TABLE], |tx| {
        tx.delete_where(Post::PRIORITY.lt(0))?;
        tx.update_where(Post::PRIORITY.gt(100), |post| post.color = Color::Red)
    });
    let count: usize = changed.wait()?;
    assert_eq!((count, workspace.fetch::<Post>().count()?), (1, 2));
    Ok(())
}

#[test]
fn every_block_of_the_pages_is_in_this_file() {
    let squeeze = |text: &str| {
        text.split_whitespace()
            .collect::<String>()
            .replace(",)", ")")
    };
    let source = squeeze(include_str!("query_pages.rs"));
    let mut blocks = 0;
    for page in [QUERIES, MODELLING] {
        // The first two blocks are the program that `examples/guides` tests.
        for block in page.split("```rust\n").skip(3) {
            let (code, _) = block.split_once("```").expect("the block should end");
            assert!(
                source.contains(&squeeze(code)),
                "this block is compiled nowhere:\n{code}"
            );
            blocks += 1;
        }
    }
    assert_eq!(blocks, 13);
    let mut cells = 0;
    for row in QUERIES.lines().filter(|line| line.starts_with("| `")) {
        let dflat = row.rsplit(" | ").next().unwrap_or_default();
        for code in dflat.split('`').skip(1).step_by(2) {
            let code = squeeze(&code.replace("\\|", "|"));
            assert!(
                source.contains(&code),
                "this cell is compiled nowhere: {code}"
            );
            cells += 1;
        }
    }
    assert_eq!(cells, 58);
}
