//! The table of instruction counts in the guide on performance, which has the counts of
//! `counts.txt`.

use crate::finding::Finding;
use crate::workspace::File;

/// The page with the table.
const PAGE: &str = "docs/performance.md";

/// The file with the counts.
const COUNTS: &str = "crates/dflat-bench/counts.txt";

/// The lines around the table.
const MARKS: [&str; 2] = [
    "<!-- by cargo xtask tidy --bless, from crates/dflat-bench/counts.txt -->\n",
    "<!-- end of counts -->\n",
];

const HEAD: &str = "| Work | Rust instructions |\n|---|---|\n";

/// The page with the table as it should be, if it differs.
pub fn blessed(files: &[File]) -> Option<File> {
    let page = file(files, PAGE)?;
    let (before, table, after) = parts(&page.text)?;
    let expected = table_of(&file(files, COUNTS)?.text);
    (table != expected).then(|| File {
        path: PAGE.to_owned(),
        text: format!("{before}{expected}{after}"),
    })
}

/// Finds a table that is missing or differs from the counts.
pub fn check(files: &[File]) -> Option<Finding> {
    let page = file(files, PAGE)?;
    let Some((before, ..)) = parts(&page.text) else {
        let message = format!("the lines `{}` and `{}` are missing", MARKS[0], MARKS[1]);
        return Some(Finding::error(PAGE, 1, message.replace('\n', "")));
    };
    let line = before.lines().count();
    let message = "the counts differ from counts.txt: `cargo xtask tidy --bless` writes them";
    blessed(files).map(|_| Finding::error(PAGE, line, message.to_owned()))
}

/// The page before the table, the table, and the page after it.
fn parts(page: &str) -> Option<(&str, &str, &str)> {
    let start = page.find(MARKS[0])? + MARKS[0].len();
    let end = start + page[start..].find(MARKS[1])?;
    Some((&page[..start], &page[start..end], &page[end..]))
}

/// The counts as a table, without the versions of the programs that they depend on.
fn table_of(counts: &str) -> String {
    let counts = counts.lines().filter(|line| !line.starts_with('#'));
    let counts = counts.filter_map(|line| line.split_once(": "));
    let counts = counts.filter(|(name, _)| !name.starts_with("version of "));
    let rows = counts.map(|(name, count)| format!("| {name} | {} |\n", grouped(count)));
    format!("{HEAD}{}", rows.collect::<String>())
}

/// A number with a comma after each three digits from its end.
fn grouped(count: &str) -> String {
    let mut text = String::new();
    for (at, digit) in count.chars().enumerate() {
        if at > 0 && (count.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn file<'a>(files: &'a [File], path: &str) -> Option<&'a File> {
    files.iter().find(|file| file.path == path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(table: &str) -> [File; 2] {
        let [start, end] = MARKS;
        let page = format!("# Performance\n\n{start}{table}{end}After it.\n");
        let counts = "# A remark: 1.\nversion of rustc: 1.95\nencode: 709\ncommit: 14730\n";
        [(PAGE, page.as_str()), (COUNTS, counts)].map(|(path, text)| File {
            path: path.to_owned(),
            text: text.to_owned(),
        })
    }

    #[test]
    fn table_with_the_counts_passes() {
        let table = format!("{HEAD}| encode | 709 |\n| commit | 14,730 |\n");
        assert_eq!(check(&files(&table)), None);
        assert!(blessed(&files(&table)).is_none());
    }

    #[test]
    fn stale_table_is_found_and_written_again() {
        let stale = format!("{HEAD}| encode | 730 |\n| commit | 14,730 |\n");
        let finding = check(&files(&stale)).unwrap();
        assert_eq!((finding.path.as_str(), finding.line), (PAGE, 3));
        let page = blessed(&files(&stale)).unwrap();
        let expected = format!("{HEAD}| encode | 709 |\n| commit | 14,730 |\n");
        assert_eq!(page.text, files(&expected)[0].text);
    }

    #[test]
    fn page_without_the_table_is_found() {
        let mut without = files("");
        without[0].text = "# Performance\n".to_owned();
        let finding = check(&without).unwrap();
        assert!(finding.message.contains("missing"), "{}", finding.message);
    }
}
