#![allow(dead_code)]

#[path = "../../../dflat-codegen/tests/data/post/rust.rs"]
mod post;

struct MyError(std::rc::Rc<str>);

impl From<dflat::Error> for MyError {
    fn from(error: dflat::Error) -> Self {
        Self(error.to_string().into())
    }
}

fn main() {
    let workspace = dflat::Workspace::in_memory();
    let _ = workspace.with_error::<MyError>();
}
