//! The laws that every backend keeps.

#![allow(missing_docs, reason = "the name of a law is its sentence")]

mod samples;

macro_rules! laws {
    (($d:tt) $($module:ident { $($law:ident)* })*) => {
        $(pub mod $module;)*

        /// Makes a test of each law: `conformance!(memory, Fixture::memory);`.
        #[macro_export]
        macro_rules! conformance {
            ($d backend:ident, $d open:path) => {
                mod $d backend {
                    $(mod $module {
                        $(#[test]
                        fn $law() {
                            $crate::fixture::check($crate::conformance::$module::$law, $d open);
                        })*
                    })*
                }
            };
        }
    };
}

laws! { ($)
    changes {
        created_object_is_read_back
        vectors_of_everything_are_read_back
        data_read_back_and_saved_again_is_the_identity
        missing_key_is_none
        composite_key_is_compared_by_all_its_parts
        submit_tells_inserted_identity_updated_and_deleted
        duplicate_key_leaves_the_transaction_usable
        duplicate_key_names_type_and_key
        moving_a_key_onto_another_is_a_conflict
        moved_key_finds_the_object_and_frees_the_old_one
        unique_conflict_is_undone
        unique_field_may_be_absent_many_times
        unique_value_is_free_after_its_object_is_gone
        change_starts_from_the_latest_values
        change_of_a_deleted_object_is_none
        request_made_before_a_deletion_fails_with_not_found
        upsert_inserts_then_is_identity_then_replaces_everything
        upsert_sees_the_transactions_own_objects
        row_ids_increase_and_are_never_reused
        large_objects_are_kept
    }
}
