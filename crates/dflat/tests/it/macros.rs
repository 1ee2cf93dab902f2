//! The macro `query!` means the same as the methods of fields.

use dflat::{Predicate, query};

use crate::bench_doc::BenchDoc;
use crate::flags::{Rights, User};
use crate::post::{Color, ImageContent, Post, TextContent};

/// Both are the same data.
fn same<T>(written: &Predicate<T>, meant: &Predicate<T>) {
    assert_eq!(
        written.to_bytes().unwrap(),
        meant.to_bytes().unwrap(),
        "{written} {meant}"
    );
}

#[test]
#[expect(
    unused_qualifications,
    reason = "that a path will do is what is tested"
)]
fn operators_call_the_methods_of_fields() {
    let n = || Post::PRIORITY;
    same(&query!(Post: priority == 1), &n().eq(1));
    same(&query!(Post: priority != -1), &n().ne(-1));
    same(&query!(Post: 100 < priority), &n().gt(100));
    same(&query!(Post: 100 >= priority), &n().le(100));
    same(
        &query!(Post: color == Color::Red),
        &Post::COLOR.eq(Color::Red),
    );
    same(
        &query!(Post: color in [Color::Red, Color::Blue]),
        &Post::COLOR.in_([Color::Red, Color::Blue]),
    );
    same(&query!(crate::post::Post: !(priority >= 3)), &!n().ge(3));
    same(
        &query!(Post: priority + 2 * priority % 3 <= 9),
        &(n() + 2 * n() % 3).le(9),
    );
    same(
        &query!(Post: (priority + 2) * 3 > 9 - priority),
        &((n() + 2) * 3).gt(9 - n()),
    );
}

#[test]
fn and_binds_tighter_than_or() {
    let (a, b, c) = (
        Post::PRIORITY.gt(1),
        Post::PRIORITY.lt(9),
        Post::TITLE.eq("a"),
    );
    let meant = (a.clone() & b.clone()) | c.clone();
    same(
        &query!(Post: priority > 1 && priority < 9 || title == "a"),
        &meant,
    );
    same(
        &query!(Post: title == "a" || priority > 1 && priority < 9),
        &(c.clone() | (a.clone() & b.clone())),
    );
    same(
        &query!(Post: priority > 1 && (priority < 9 || title == "a")),
        &(a & (b | c)),
    );
}

#[test]
fn values_are_rust_expressions() {
    let (least, title) = (7, String::from("t"));
    same(
        &query!(Post: priority > { least + 1 }),
        &Post::PRIORITY.gt(8),
    );
    same(&query!(Post: title == { &title }), &Post::TITLE.eq("t"));
    same(
        &query!(Post: priority < i32::MAX),
        &Post::PRIORITY.lt(i32::MAX),
    );
    same(
        &query!(Post: priority < i32::from(b'c')),
        &Post::PRIORITY.lt(99),
    );
    same(
        &query!(Post: priority in { 0..3 }),
        &Post::PRIORITY.in_(0..3),
    );
}

#[test]
fn dots_lead_to_fields_and_methods() {
    let text = || Post::CONTENT.as_::<TextContent>().text();
    same(
        &query!(Post: content.as_::<TextContent>().text == "a"),
        &text().eq("a"),
    );
    same(
        &query!(Post: content.as_::<TextContent>().text.is_null),
        &text().is_null(),
    );
    same(
        &query!(Post: content.matches::<TextContent>()),
        &Post::CONTENT.matches::<TextContent>(),
    );
    same(
        &query!(Post: title.starts_with("a") && tag.len > 2),
        &(Post::TITLE.starts_with("a") & Post::TAG.len().gt(2)),
    );
    same(
        &query!(Post: title.ignore_case().like("a%")),
        &Post::TITLE.ignore_case().like("a%"),
    );
    let images = || Post::CONTENT.as_::<ImageContent>().images();
    same(
        &query!(Post: content
            .as_::<ImageContent>()
            .images
            .any(it == "a" || it.len > 3 && !it.is_null())),
        &images().any(|it| it.clone().eq("a") | (it.clone().len().gt(3) & !it.is_null())),
    );
    same(
        &query!(Post: content.as_::<ImageContent>().images.len == 0),
        &images().is_empty(),
    );
}

#[test]
fn operations_without_an_operator_are_methods() {
    let n = || Post::PRIORITY;
    same(&query!(Post: priority.between(1, 5)), &n().between(1, 5));
    same(&query!(Post: priority.not_in([1, 2])), &n().not_in([1, 2]));
    same(&query!(Post: !(priority in [1, 2])), &!n().in_([1, 2]));
    same(
        &query!(Post: (priority - 1) / 2 == 3),
        &((n() - 1) / 2).eq(3),
    );
    same(&query!(Post: 10 % priority == 1), &(10 % n()).eq(1));
    same(&query!(Post: tag == title), &Post::TAG.eq(Post::TITLE));
    same(&query!(Post: tag.is_not_null), &Post::TAG.is_not_null());
    same(
        &query!(Post: title.ends_with("a") || title.contains("b") || title.like("a%_")),
        &(Post::TITLE.ends_with("a") | Post::TITLE.contains("b") | Post::TITLE.like("a%_")),
    );
    same(
        &query!(Post: title.ignore_case() == "A"),
        &Post::TITLE.ignore_case().eq("A"),
    );
    same(
        &query!(Post: content.tag in [1, 2]),
        &Post::CONTENT.tag().in_([1, 2]),
    );
    let images = || Post::CONTENT.as_::<ImageContent>().images();
    same(
        &query!(Post: content.as_::<ImageContent>().images.all(it.ends_with(".png"))),
        &images().all(|image| image.ends_with(".png")),
    );
    same(
        &query!(Post: content.as_::<ImageContent>().images.contains("a")),
        &images().contains("a"),
    );
    same(&query!(BenchDoc: pos.x > 1.5), &BenchDoc::POS.x().gt(1.5));
    let both = Rights::READ | Rights::WRITE;
    same(
        &query!(User: rights.has_all(both) || rights.has_any(Rights::READ)),
        &(User::RIGHTS.has_all(both) | User::RIGHTS.has_any(Rights::READ)),
    );
}
