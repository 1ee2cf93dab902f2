//! Writes the page of benchmarks and its charts, or compares them with the stored figures.
#![allow(clippy::print_stdout, reason = "a program for people at a terminal")]

use std::path::Path;

use dflat_bench_page::{Result, files, merge};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["write", root] => {
            for path in files::write(Path::new(root))? {
                println!("{path}");
            }
            Ok(())
        }
        ["check", root] => match files::problems(Path::new(root))?.as_slice() {
            [] => Ok(()),
            problems => Err(format!(
                "{}\n`cargo xtask bench --write` writes the files",
                problems.join("\n")
            )
            .into()),
        },
        ["merge", root, run] => merge::merge(Path::new(root), Path::new(run)),
        ["draw", root, floors, folder] => {
            let page = files::draw(Path::new(root), Path::new(floors), Path::new(folder))?;
            println!("{}", page.display());
            Ok(())
        }
        _ => Err(
            "give `write` or `check` and the root of the repository, `merge`, the root and a \
                  file of figures, or `draw`, the root, a file of `dflat-bench --json` and a \
                  folder"
                .into(),
        ),
    }
}
