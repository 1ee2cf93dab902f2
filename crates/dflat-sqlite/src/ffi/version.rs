//! The lowest version of SQLite that the library works with. The build script reads this file too.

/// The lowest version on which the laws of the storage and the tests of this crate have passed.
pub(crate) const LOWEST: Version = Version([3, 37, 0]);

/// A version of SQLite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(pub(crate) [u32; 3]);

impl Version {
    /// The version in a text such as `3.40.1`, with further numbers or without the last one.
    #[allow(dead_code, reason = "the build script uses it")]
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.trim().split('.').map(str::parse::<u32>);
        let mut next = || numbers.next()?.ok();
        let (major, minor) = (next()?, next()?);
        Some(Self([major, minor, next().unwrap_or(0)]))
    }

    /// The version by SQLite's number, such as 3,040,001.
    #[allow(dead_code, reason = "the library uses it")]
    pub(crate) const fn of_number(number: u32) -> Self {
        Self([number / 1_000_000, number / 1_000 % 1_000, number % 1_000])
    }

    /// Why the library does not work with this version; `None` if it does.
    pub(crate) fn refusal(self) -> Option<String> {
        let [major, minor, patch] = self.0;
        let [low_major, low_minor, low_patch] = LOWEST.0;
        (self < LOWEST).then(|| {
            format!(
                "the system's SQLite has the version {major}.{minor}.{patch}, and the lowest \
                 version that Dflat works with is {low_major}.{low_minor}.{low_patch}"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lower_versions_are_refused_with_both_numbers() {
        let check = |text: &str, number: u32, is_refused: bool| {
            let version = Version::parse(text).unwrap();
            assert_eq!(version, Version::of_number(number));
            assert_eq!(version.refusal().is_some(), is_refused, "{text}");
        };
        check("3.36.0", 3_036_000, true);
        check("3.37.0", 3_037_000, false);
        check("3.37.2\n", 3_037_002, false);
        check("3.40.1", 3_040_001, false);
        check("3.54", 3_054_000, false);
        check("2.8.17", 2_008_017, true);
        assert_eq!(
            Version([3, 36, 1]).refusal().unwrap(),
            "the system's SQLite has the version 3.36.1, and the lowest version that Dflat works \
             with is 3.37.0"
        );
        assert_eq!(Version::parse("unknown"), None);
    }

    #[test]
    fn documents_name_the_lowest_version() {
        let [major, minor, patch] = LOWEST.0;
        let number = format!("{major}.{minor}.{patch}");
        for page in ["build", "c-interface", "storage-format", "platforms"] {
            let path = format!("{}/../../docs/{page}.md", env!("CARGO_MANIFEST_DIR"));
            // The pages are not in the packed crate.
            if let Ok(text) = std::fs::read_to_string(path) {
                let line = format!("SQLite {number} or later");
                assert!(text.contains(&line), "{page}.md");
            }
        }
    }
}
