//! Laws of queries and snapshots.
//!
//! A law that is `not_on_packs` holds for backends that keep objects where they were inserted. A
//! pack has them in the order of their keys. Such a law inserts objects in another order than that
//! of their keys, changes an object whose place in this order has changed, pins a snapshot by its
//! first scan, or stores objects without required values, which a pack refuses.

laws! { ($) reading_laws of reading;
    snapshots {
        snapshot_is_fixed_when_it_is_taken
        snapshot_of_an_empty_workspace_stays_empty
        snapshot_covers_all_types
        #[not_on_packs] snapshot_of_a_closure_is_pinned_by_its_first_fetch
        nested_snapshots_are_independent
        writer_is_not_blocked_by_a_snapshot
        #[not_on_packs] snapshot_keeps_deleted_objects
        snapshot_goes_to_another_thread
        more_snapshots_than_usual_readers_can_be_held
        objects_outlive_their_deletion_and_workspace
        readers_never_see_half_a_transaction
    }
    queries {
        #[not_on_packs] without_an_order_objects_come_as_inserted
        #[not_on_packs] an_updated_object_keeps_its_place
        order_sorts_and_ties_go_by_row_id_in_both_directions
        later_orders_break_the_ties_of_earlier_ones
        missing_values_come_first_and_last_when_descending
        limit_returns_the_first_objects_of_the_order
        limit_of_zero_is_nothing
        limit_applies_after_the_condition
        first_returns_the_first_object_or_none
        several_filters_are_conjoined
        comparisons_hold_as_written
        contradictory_bounds_find_nothing
        logic_is_three_valued
        logic_is_three_valued_with_indexes
        constants_are_conditions
        in_finds_each_object_once
        in_of_an_empty_list_is_false_and_its_negation_true_for_present_values
        in_takes_ten_thousand_values
        in_with_order_and_limit_is_exact
        deep_conditions_are_evaluated
        whole_key_with_more_conditions_checks_them
        range_in_the_order_of_its_index_with_a_limit_is_exact
        indexes_follow_updates_and_deletions
        result_is_an_immutable_slice
    }
    expressions {
        arithmetic_computes
        overflow_is_missing
        division_by_zero_is_missing
        #[not_on_packs] strings_are_tested
        between_and_not_in_exclude_missing_values
        conditions_test_the_members_of_vectors
        missing_members_make_a_condition_missing
        flags_are_tested
        order_may_use_nested_and_computed_values
        order_may_follow_a_list_of_values
        live_results_follow_computed_conditions
        value_of_any_depth_that_is_allowed_has_aggregates
        condition_of_another_type_is_refused
    }
    times_and_uuids {
        times_are_compared_and_ordered
        optional_times_may_be_missing
        a_time_is_a_primary_key
        uuids_are_compared_by_their_bytes
    }
    windows {
        offset_skips_the_first_objects_of_the_order
        pages_have_each_object_once
        #[not_on_packs] pages_stay_right_under_writes
        cursor_of_another_order_is_refused
        live_result_of_a_window_stays_exact
        #[not_on_packs] objects_stream_in_batches_of_one_state
        objects_stream_inside_a_transaction
        counts_respect_filters_limits_and_offsets
        sums_means_and_extremes_are_computed
        single_fields_are_read
        many_keys_are_looked_up_at_once
        cancelled_and_late_reads_are_given_up
    }
    required {
        #[not_on_packs] object_without_required_values_is_read_on_request_only
        #[not_on_packs] upsert_completes_an_object_without_required_values
        change_completes_an_object_that_was_read_without_required_values
        #[not_on_packs] object_without_required_values_is_deleted
        #[not_on_packs] restored_object_without_required_values_is_as_it_was
        #[not_on_packs] object_without_required_values_is_deleted_by_a_condition
        #[not_on_packs] live_query_goes_on_after_an_object_without_required_values
    }
    plans {
        condition_on_a_key_reads_only_its_range
        sides_of_a_disjunction_are_looked_up
        many_rows_of_two_indexes_are_intersected
        prefix_of_a_composite_key_is_a_range
        order_with_a_limit_is_read_from_its_index
        pages_after_many_equal_values_are_exact
        #[not_on_packs] pages_after_a_replaced_object_equal_those_of_a_full_scan
        cursor_with_another_value_of_a_fixed_key_precedes_or_follows_all_rows
        range_of_most_objects_reads_the_whole_table
        value_of_most_objects_reads_the_whole_table
        counts_read_only_the_index
        in_of_ten_thousand_keys_is_exact
    }
    defects {
        limit_applies_after_an_order_without_an_index
        limited_live_query_drops_an_object_that_leaves
        refilled_live_query_respects_its_limit
        unchanged_live_query_makes_no_delivery
        booleans_are_ordered
        strings_are_equal_only_if_their_bytes_are
        type_code_of_an_empty_union_is_the_same_in_all_queries
        in_takes_more_values_than_sqlite_has_variables
        large_unsigned_values_are_queried
        remainder_of_a_division_by_zero_is_missing
        overflow_of_a_sum_is_missing
    }
    paths {
        members_of_structs_are_queried
        fields_of_nested_tables_are_queried
        default_of_a_nested_field_holds_only_if_its_table_is_present
        unions_are_queried_by_member
        fields_of_union_members_are_missing_while_another_is_held
        index_on_a_union_follows_its_member
    }
    values {
        booleans_compare
        bytes_compare
        unsigned_bytes_compare
        shorts_compare
        unsigned_shorts_compare
        ints_compare
        unsigned_ints_compare
        longs_compare
        unsigned_longs_compare
        floats_compare
        doubles_compare
        enums_compare_by_their_numbers
        optional_scalars_are_missing_values
        strings_compare_by_their_bytes
        strings_with_nul_are_keys_of_their_own
        nan_is_a_missing_value
        identity_compares_floats_by_their_bits
        unsigned_numbers_above_the_signed_range_are_keys
        #[not_on_packs] parts_of_a_composite_key_are_queried_like_fields
        values_that_every_object_has_are_selected_plain
        values_inside_required_tables_are_selected_plain
        values_inside_structs_and_unions_may_be_missing
    }
}
