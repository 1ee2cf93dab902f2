//! README states how many crates a program with Dflat compiles.

use std::path::Path;

use xtask::{cost, workspace};

#[test]
fn readme_counts_the_crates_that_cargo_compiles() -> xtask::Result<()> {
    let root = workspace::root();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cost");
    cost::write_package(&root, &folder)?;
    let sentence = cost::sentence(cost::count(&folder)?);
    let readme = std::fs::read_to_string(root.join("README.md"))?;
    let (_, paragraph, _) = cost::split(&readme).ok_or("README.md lacks the marks")?;
    assert!(
        paragraph.contains(&sentence),
        "`cargo xtask cost --bless` writes README.md; it should have: {sentence}"
    );
    Ok(())
}
