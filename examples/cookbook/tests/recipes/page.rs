//! The page and these files agree.

/// The least number of recipes on the page.
const RECIPES_MIN: usize = 30;

const SOURCES: [&str; 12] = [
    include_str!("assign.rs"),
    include_str!("awaited.rs"),
    include_str!("change.rs"),
    include_str!("follow.rs"),
    include_str!("keep.rs"),
    include_str!("migrate.rs"),
    include_str!("model.rs"),
    include_str!("prelude.rs"),
    include_str!("read.rs"),
    include_str!("main.rs"),
    include_str!("../../build.rs"),
    // The program at the beginning, which `examples/guides` runs.
    include_str!("../../../guides/src/bin/cookbook.rs"),
];

const SCHEMAS: [&str; 9] = [
    include_str!("../../schemas/note.fbs"),
    include_str!("../../schemas/person.fbs"),
    include_str!("../../schemas/membership.fbs"),
    include_str!("../../schemas/job.fbs"),
    include_str!("../../schemas/entry.fbs"),
    include_str!("../../schemas/drawing.fbs"),
    include_str!("../../schemas/visit.fbs"),
    include_str!("../../schemas/contact.fbs"),
    include_str!("../../schemas/contact_v2.fbs"),
];

/// The blocks of the page in a language.
fn blocks(language: &str) -> impl Iterator<Item = &'static str> {
    let page = include_str!("../../../../docs/cookbook.md");
    let blocks = page.split("```").skip(1).step_by(2);
    blocks.filter_map(move |block| block.strip_prefix(language)?.strip_prefix('\n'))
}

fn squeezed(text: &str) -> String {
    let text: String = text.split_whitespace().collect();
    // The formatter may add a comma where the page has none, and break a line after a bracket.
    text.replace(",)", ")")
        .replace(",]", "]")
        .replace(",}", "}")
}

#[test]
fn every_block_of_the_page_is_compiled() {
    let sources: Vec<String> = SOURCES.iter().map(|source| squeezed(source)).collect();
    let mut count = 0;
    // The build script of the program at the beginning is compared by `examples/guides`, too.
    let script = |block: &&str| !block.contains("schemas/note.fbs");
    for block in blocks("rust").filter(script) {
        let code = squeezed(block);
        assert!(
            sources.iter().any(|source| source.contains(&code)),
            "this block is compiled nowhere:\n{block}"
        );
        count += 1;
    }
    assert!(count >= RECIPES_MIN, "{count} recipes");
}

#[test]
fn every_schema_of_the_page_is_a_file() {
    let schemas: Vec<String> = SCHEMAS.iter().map(|schema| squeezed(schema)).collect();
    for block in blocks("text") {
        let found = schemas
            .iter()
            .any(|schema| schema.contains(&squeezed(block)));
        assert!(found, "no schema has this block:\n{block}");
    }
}
