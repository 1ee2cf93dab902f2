//! Compares the code of a guide with the test that compiles it.

/// The text without spaces, and without the commas of values that are divided into lines.
pub(crate) fn squeeze(text: &str) -> String {
    let text: String = text.split_whitespace().collect();
    text.replace(",)", ")").replace(",}", "}")
}

/// Checks that each of `count` blocks of code of a guide is in the source of a test.
pub(crate) fn check_blocks(page: &str, source: &str, count: usize) {
    let source = squeeze(source);
    // The first two blocks are the program that `examples/guides` tests.
    let blocks = page.split("```rust\n").skip(3);
    let blocks: Vec<&str> = blocks
        .map(|rest| rest.split("```").next().unwrap())
        .collect();
    for block in &blocks {
        assert!(
            source.contains(&squeeze(block)),
            "compiled nowhere:\n{block}"
        );
    }
    assert_eq!(blocks.len(), count);
}
