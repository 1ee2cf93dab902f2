//! The repository is tidy.

use xtask::tidy::{self, Mode};
use xtask::workspace;

#[test]
fn the_repository_is_tidy() -> xtask::Result<()> {
    let findings = tidy::run(&workspace::root(), Mode::Check)?;
    let errors: Vec<_> = findings
        .iter()
        .filter(|finding| finding.is_error())
        .collect();
    let lines: Vec<_> = errors.iter().map(ToString::to_string).collect();
    assert!(errors.is_empty(), "{}", lines.join("\n"));
    Ok(())
}
