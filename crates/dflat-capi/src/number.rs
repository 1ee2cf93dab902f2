//! The numbers of the header's options, operations, flags and kinds.
//!
//! The header documents each under the same name, after `DFLAT_`. The codes of errors are in
//! `boundary`.

/// The version of the interface.
pub(crate) const ABI_VERSION: u32 = 1;

// How keys are assigned.
pub(crate) const AUTO_KEY_NONE: i32 = 0;
pub(crate) const AUTO_KEY_INCREASING: i32 = 1;
pub(crate) const AUTO_KEY_UUID: i32 = 2;

// The options of a workspace.
pub(crate) const OPTION_FULL_DURABILITY: i32 = 1;
pub(crate) const OPTION_SINGLE_WRITER: i32 = 2;
pub(crate) const OPTION_BUSY_TIMEOUT: i32 = 3;
pub(crate) const OPTION_THREADS_MAX: i32 = 4;
pub(crate) const OPTION_READERS_MAX: i32 = 5;
pub(crate) const OPTION_DICTIONARY_KEYS_MAX: i32 = 6;
pub(crate) const OPTION_LOG_BYTES_MAX: i32 = 7;
pub(crate) const OPTION_READ_ONLY: i32 = 8;
pub(crate) const OPTION_ALLOW_MISSING: i32 = 9;
pub(crate) const OPTION_RECLAIM: i32 = 10;
pub(crate) const OPTION_FILE_PROTECTION: i32 = 11;
pub(crate) const OPTION_FOLLOW_PROCESSES: i32 = 12;
pub(crate) const OPTION_FOLLOW_BYTES_MAX: i32 = 13;
pub(crate) const OPTION_CHANGE_LOG: i32 = 14;
pub(crate) const OPTION_SNAPSHOT_AGE_MAX: i32 = 15;
pub(crate) const OPTION_SUBSCRIBER_PATIENCE: i32 = 16;
pub(crate) const OPTION_INDEX_ON_READ: i32 = 17;
pub(crate) const OPTION_CHANGE_LOG_BYTES_MAX: i32 = 18;
pub(crate) const OPTION_CHANGE_LOG_AGE_MAX: i32 = 19;
pub(crate) const OPTION_PAGE_CACHE_BYTES: i32 = 20;

// Flags of a shutdown.
pub(crate) const SHUTDOWN_TRUNCATE: u32 = 1;
pub(crate) const SHUTDOWN_VACUUM: u32 = 2;

// Flags of a transaction.
pub(crate) const PERFORM_WRITE_FIRST: u32 = 1;
pub(crate) const PERFORM_RETRY: u32 = 2;

// Operations on objects.
pub(crate) const CREATE: i32 = 1;
pub(crate) const UPDATE: i32 = 2;
pub(crate) const UPSERT: i32 = 3;
pub(crate) const DELETE: i32 = 4;
pub(crate) const RESTORE: i32 = 5;

// A flag of an operation.
pub(crate) const SUBMIT_IF_UNCHANGED: u32 = 1;

// The effects of operations, and the events of an object.
pub(crate) const INSERTED: i32 = 1;
pub(crate) const UPDATED: i32 = 2;
pub(crate) const IDENTITY: i32 = 3;
pub(crate) const DELETED: i32 = 4;

// The kinds of values.
pub(crate) const NULL: i32 = 0;
pub(crate) const INTEGER: i32 = 1;
pub(crate) const UNSIGNED: i32 = 2;
pub(crate) const FLOAT: i32 = 3;
pub(crate) const TEXT: i32 = 4;

// Aggregates.
pub(crate) const SUM: i32 = 1;
pub(crate) const MEAN: i32 = 2;
pub(crate) const SMALLEST: i32 = 3;
pub(crate) const LARGEST: i32 = 4;

// A flag of a subscription.
pub(crate) const SUBSCRIBE_WITHOUT_INITIAL: u32 = 1;

// The kinds of the dictionary's values.
pub(crate) const ENTRY_BOOL: i32 = 1;
pub(crate) const ENTRY_INT64: i32 = 2;
pub(crate) const ENTRY_UINT64: i32 = 3;
pub(crate) const ENTRY_FLOAT: i32 = 4;
pub(crate) const ENTRY_DOUBLE: i32 = 5;
pub(crate) const ENTRY_TEXT: i32 = 6;
pub(crate) const ENTRY_CODABLE: i32 = 7;
pub(crate) const ENTRY_FLATBUFFERS: i32 = 8;

// A flag of a subscription to keys.
pub(crate) const DICTIONARY_PREFIX: u32 = 1;

// Statistics.
pub(crate) const STATISTIC_TRANSACTIONS: i32 = 1;
pub(crate) const STATISTIC_FAILED_TRANSACTIONS: i32 = 2;
pub(crate) const STATISTIC_RETRIES: i32 = 3;
pub(crate) const STATISTIC_CONFLICTS: i32 = 4;
pub(crate) const STATISTIC_GROUPS: i32 = 5;
pub(crate) const STATISTIC_GROUPED_TRANSACTIONS: i32 = 6;
pub(crate) const STATISTIC_DELIVERIES: i32 = 7;
pub(crate) const STATISTIC_LOOK_UPS: i32 = 8;
pub(crate) const STATISTIC_LOOK_UPS_SAVED: i32 = 9;
pub(crate) const STATISTIC_FOLLOWED_COMMITS: i32 = 10;
pub(crate) const STATISTIC_RENEWALS: i32 = 11;
pub(crate) const STATISTIC_LOG_BYTES: i32 = 12;
pub(crate) const STATISTIC_LOG_IS_PINNED: i32 = 13;
pub(crate) const STATISTIC_LOG_WAITS: i32 = 14;
pub(crate) const STATISTIC_FOLLOWS_PROCESSES: i32 = 15;
pub(crate) const STATISTIC_LARGEST_GROUP: i32 = 16;
pub(crate) const STATISTIC_LOOKS_AT_INTERVALS: i32 = 17;
pub(crate) const STATISTIC_OLDEST_SNAPSHOT: i32 = 18;
pub(crate) const STATISTIC_REREADS: i32 = 19;
pub(crate) const STATISTIC_CHANGE_RECORDS: i32 = 20;
pub(crate) const STATISTIC_CHANGE_RECORD_BYTES: i32 = 21;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    /// The header without its comments.
    fn header() -> String {
        let mut rest = include_str!("../include/dflat.h");
        let mut kept = String::new();
        while let Some((before, after)) = rest.split_once("/*") {
            kept.push_str(before);
            rest = after.split_once("*/").unwrap().1;
        }
        kept + rest
    }

    /// The constants of the header's enums, but the codes.
    fn in_header() -> BTreeMap<String, String> {
        let text = header();
        let enums = text.split("enum {").skip(2);
        let constants = enums.flat_map(|rest| rest.split_once('}').unwrap().0.split(','));
        let pairs = constants.filter_map(|constant| constant.trim().split_once(" = "));
        let version = text.lines().find_map(|line| {
            let version = line.strip_prefix("#define DFLAT_ABI_VERSION ")?;
            Some(("DFLAT_ABI_VERSION", version))
        });
        let named = pairs.chain(version);
        named
            .map(|(name, number)| (name.to_owned(), number.to_owned()))
            .collect()
    }

    /// The constants of this file.
    fn here() -> BTreeMap<String, String> {
        let lines = include_str!("number.rs").lines();
        let constants = lines.filter_map(|line| line.strip_prefix("pub(crate) const "));
        constants
            .map(|constant| {
                let (name, rest) = constant.split_once(": ").unwrap();
                let (_, number) = rest.trim_end_matches(';').split_once(" = ").unwrap();
                (format!("DFLAT_{name}"), number.to_owned())
            })
            .collect()
    }

    #[test]
    fn constants_of_the_header_are_those_of_the_library() {
        let here = here();
        assert!(here.len() > 60, "{} constants", here.len());
        assert_eq!(here, in_header());
    }
}
