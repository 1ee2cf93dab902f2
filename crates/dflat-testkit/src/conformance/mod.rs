//! The laws that every backend keeps.

#![allow(missing_docs, reason = "the name of a law is its sentence")]

mod samples;

macro_rules! laws {
    (($d:tt) $($room:ident { $($module:ident { $($law:ident)* })* })*) => {
        $(pub mod $room {
            $(pub mod $module;)*
        })*

        /// Makes a test of each law: `conformance!(memory, Fixture::memory);`.
        #[macro_export]
        macro_rules! conformance {
            ($d backend:ident, $d open:path) => {
                mod $d backend {
                    $($(mod $module {
                        $(#[test]
                        fn $law() {
                            $crate::fixture::check(
                                $crate::conformance::$room::$module::$law,
                                $d open,
                            );
                        })*
                    })*)*
                }
            };
        }
    };
}

laws! { ($)
    reading {
        snapshots {
            snapshot_is_fixed_when_it_is_taken
            snapshot_of_an_empty_workspace_stays_empty
            snapshot_covers_all_types
            snapshot_of_a_closure_is_pinned_by_its_first_fetch
            nested_snapshots_are_independent
            writer_is_not_blocked_by_a_snapshot
            snapshot_keeps_deleted_objects
            snapshot_goes_to_another_thread
            more_snapshots_than_usual_readers_can_be_held
            objects_outlive_their_deletion_and_workspace
            readers_never_see_half_a_transaction
        }
        queries {
            without_an_order_objects_come_as_inserted
            an_updated_object_keeps_its_place
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
            strings_are_tested
            between_and_not_in_exclude_missing_values
            conditions_test_the_members_of_vectors
            missing_members_make_a_condition_missing
            flags_are_tested
            order_may_use_nested_and_computed_values
            order_may_follow_a_list_of_values
            live_results_follow_computed_conditions
            condition_of_another_type_is_refused
        }
        windows {
            offset_skips_the_first_objects_of_the_order
            pages_have_each_object_once
            pages_stay_right_under_writes
            cursor_of_another_order_is_refused
            live_result_of_a_window_stays_exact
            objects_stream_in_batches_of_one_state
            objects_stream_inside_a_transaction
            counts_respect_filters_limits_and_offsets
            sums_means_and_extremes_are_computed
            single_fields_are_read
            many_keys_are_looked_up_at_once
            cancelled_and_late_reads_are_given_up
        }
        plans {
            condition_on_a_key_reads_only_its_range
            sides_of_a_disjunction_are_looked_up
            many_rows_of_two_indexes_are_intersected
            prefix_of_a_composite_key_is_a_range
            order_with_a_limit_is_read_from_its_index
            pages_after_many_equal_values_are_exact
            pages_after_a_replaced_object_equal_those_of_a_full_scan
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
            parts_of_a_composite_key_are_queried_like_fields
        }
    }
    writing {
        large {
            large_transaction_with_random_changes_agrees_with_a_model
            a_large_transaction_that_is_aborted_leaves_nothing
            savepoint_of_any_size_at_the_start_of_a_transaction_is_undone
            durability_set_in_an_undone_savepoint_keeps_the_changes_before_it
            row_ids_of_aborted_inserts_are_not_used_again
            nested_savepoints_of_many_insertions_are_kept_and_undone
            request_made_before_many_insertions_replaces_the_stored_object
            subscribers_that_register_during_a_large_import_get_the_deliveries_of_any_commit
            large_transactions_of_several_threads_lose_nothing
        }
        changes {
            created_object_is_read_back
            vectors_of_everything_are_read_back
            data_saved_unchanged_writes_nothing
            missing_key_is_none
            composite_key_is_compared_by_all_its_parts
            submit_returns_inserted_unchanged_updated_or_deleted
            duplicate_key_leaves_the_transaction_usable
            duplicate_key_names_type_and_key
            moving_a_key_onto_another_is_a_conflict
            moved_key_finds_the_object_and_frees_the_old_one
            unique_conflict_is_undone
            unique_field_may_be_absent_many_times
            unique_value_is_free_after_its_object_is_gone
            change_starts_from_the_latest_values
            change_of_a_deleted_object_makes_no_request
            request_made_before_a_deletion_fails_with_not_found
            upsert_inserts_then_changes_nothing_then_replaces_everything
            upsert_sees_the_transactions_own_objects
            row_ids_increase_and_are_never_reused
            large_objects_are_kept
        }
        retrying {
            retrying_forms_run_a_handler_once_if_no_other_process_commits
            blocking_retrying_transaction_fails_like_any_other
            handlers_that_have_write_access_first_do_not_meet
            transaction_with_write_access_first_fails_like_any_other
        }
        writes_by_query {
            update_by_condition_changes_all_matching_objects
            deletion_by_condition_deletes_all_matching_objects
            a_conflict_undoes_the_whole_write_and_the_transaction_goes_on
            writes_by_query_make_the_deliveries_of_single_writes
            write_by_query_of_an_undeclared_type_is_refused
        }
        copying {
            table_copy_has_every_object
            table_copy_skips_present_keys
            failed_table_copy_resumes_where_it_ended
            table_copy_takes_turns_with_transactions
            table_copy_does_not_overwrite_a_unique_value
            table_copy_inside_a_handler_is_refused
        }
        transactions {
            handlers_may_hold_a_quarter_of_a_megabyte
            abort_undoes_earlier_and_later_changes
            abort_before_any_change_is_reported
            handlers_error_rolls_back_and_reaches_the_handle
            handlers_panic_rolls_back_and_reaches_the_handle
            undeclared_type_is_an_error_and_the_transaction_goes_on
            no_type_at_all_is_an_invalid_argument
            type_may_be_declared_twice
            several_types_commit_together
            only_the_transaction_sees_its_uncommitted_writes
            workspace_on_the_handlers_thread_refuses_undeclared_types
            transaction_sees_its_own_updates_and_deletions_in_indexes
            empty_transaction_succeeds
            overlapping_types_run_in_the_order_of_calls
            disjoint_handlers_can_meet_before_their_first_submit
            many_threads_with_overlapping_types_do_not_deadlock
            performing_inside_a_handler_is_queued
            wait_inside_a_handler_is_refused
            await_inside_a_handler_is_refused
            handle_can_be_awaited
            completion_is_called_once_with_the_outcome
            completion_given_late_is_called_at_once
            completion_that_panics_fails_no_transaction
            detached_and_dropped_handles_do_not_cancel
            many_queued_transactions_all_commit
            one_slow_handler_does_not_hold_up_another_type
            failed_transactions_in_a_queue_fail_no_other
            acknowledged_changes_are_seen_by_every_reader_at_once
        }
        nested {
            failed_savepoint_is_undone_and_the_rest_is_kept
            successful_savepoint_is_kept
            savepoints_can_be_nested
            undone_changes_are_never_delivered
            keys_swapped_in_an_undone_savepoint_are_restored
            conflict_inside_a_savepoint_leaves_it_usable
            panic_in_a_savepoint_undoes_it_and_goes_on
            abort_in_a_savepoint_aborts_the_transaction
            objects_of_an_undone_savepoint_are_looked_up_again
            request_of_an_undone_savepoint_starts_from_the_stored_object
            row_ids_of_undone_objects_are_not_used_again
            transaction_whose_only_changes_are_undone_succeeds
            error_in_a_savepoint_loses_the_transaction_only_if_it_does_outside
            undone_savepoint_is_not_written_again_with_its_transaction
            random_savepoints_agree_with_a_model
        }
        optimistic {
            change_of_an_unchanged_object_is_carried_out
            change_of_a_changed_object_is_out_of_date_and_the_transaction_goes_on
            own_changes_count_as_changes
            deleted_object_is_out_of_date_even_if_its_key_is_there_again
            deletion_can_be_optimistic
            request_of_another_transaction_is_refused
        }
        blocking {
            blocking_handler_borrows_and_runs_on_its_callers_thread
            blocking_transaction_ends_after_its_callbacks
            blocking_transaction_fails_like_any_other
            blocking_transactions_take_their_turn_with_the_others
            blocking_transactions_of_disjoint_types_can_meet
            blocking_call_inside_a_handler_or_callback_is_refused
            blocking_transaction_finishes_before_shutdown_and_is_refused_after_it
        }
        transaction_defects {
            update_to_an_existing_key_is_a_conflict
            update_to_an_existing_unique_value_is_a_conflict
            indexes_follow_transactions_of_changing_sets_of_types
            snapshot_inside_a_snapshot_is_independent
            vectors_of_structs_keep_their_order
            upsert_from_an_outdated_object_replaces_the_stored_one
            cancel_prevents_the_first_delivery_of_an_outdated_object
            no_callback_runs_after_a_concurrent_cancel
            transactions_of_overlapping_types_do_not_deadlock
            duplicate_declaration_of_a_type_is_harmless
            dropped_queries_hold_no_reader
            blocking_shutdown_inside_callbacks_is_refused
            queued_transactions_of_one_type_share_few_threads
            large_unsigned_keys_are_stored_and_found
            two_requests_of_one_object_are_both_carried_out
            subscription_to_an_aborted_insert_delivers_its_deletion
            request_outside_its_transaction_is_refused
            undeclared_type_is_refused
            duplicate_key_undoes_a_handler_that_returns_the_error
            completion_gets_the_error_of_a_duplicate_key
            fetch_returns_its_error
        }
        groups {
            group_members_see_earlier_changes_of_an_object_fetched_before
            group_member_may_wait_for_the_completion_before_it
            group_member_that_has_written_may_wait_for_the_completion_before_it
            wait_for_the_completion_before_takes_milliseconds
            finished_member_does_not_wait_for_a_slow_successor
            swapped_keys_survive_being_written_again
            table_that_an_undone_member_created_is_created_again
            conflict_in_a_group_member_leaves_its_group_usable
            each_member_is_visible_to_all_when_its_completion_is_called
            commits_of_all_types_are_delivered_in_one_order
            lone_transaction_is_committed_at_once
            slow_completion_does_not_hold_up_the_next_transaction
            subscription_in_a_queue_takes_its_place_between_two_members
            settle_waits_for_queued_work_and_its_deliveries
            settle_inside_a_handler_is_refused
        }
    }
    observing {
        live {
            update_has_the_inserted_removed_and_changed_objects
            count_is_delivered_only_when_it_changes
            pending_count_that_returns_to_the_delivered_one_is_not_delivered
            projection_is_delivered_only_when_a_selected_value_changes
            projection_distinguishes_zero_and_minus_zero
            pending_projection_distinguishes_zero_and_minus_zero
            without_initial_only_changes_are_delivered
            commits_do_not_wait_for_callbacks_on_an_executor
            dropped_executor_job_is_replaced_at_the_next_delivery
            stream_within_its_capacity_gives_every_delivery
            stream_beyond_its_capacity_merges_deliveries
            changes_that_cancel_out_make_no_delivery
            a_transaction_that_changes_an_object_back_makes_no_delivery
            stream_subscribes_when_it_is_polled
            iterator_waits_for_deliveries_and_ends_with_the_deletion_of_the_object
            waiting_for_a_delivery_inside_a_handler_is_refused
            cell_holds_the_latest_delivery
            callback_that_panics_ends_only_its_subscription_with_an_error
            stuck_subscriber_delays_no_other_and_gets_the_rest_as_one_delivery
            workspace_can_be_shut_down_while_a_subscriber_is_stuck
            callbacks_that_cancel_each_other_both_return
            the_same_query_twice_gets_the_same_deliveries
            window_is_updated_without_a_fetch_while_it_holds_rows_beside_it
            query_registered_after_many_ranges_gets_every_delivery
        }
        racing {
            result_changed_during_its_registration_misses_and_repeats_no_delivery
            window_changed_during_its_registration_misses_and_repeats_no_delivery
            object_changed_during_its_registration_misses_and_repeats_no_delivery
        }
        sharing {
            unchanged_objects_are_shared_with_the_previous_result
            subscribers_of_one_result_share_its_list
            live_result_changed_at_any_positions_equals_a_fetch
        }
        objects {
            update_is_delivered_before_its_transaction_completes
            one_transaction_makes_one_delivery_of_its_final_state
            unchanged_object_is_never_delivered
            rolled_back_changes_are_never_delivered
            subscribers_of_other_objects_are_not_notified
            deletion_ends_the_subscription_and_a_new_object_is_another
            object_deleted_and_created_again_in_one_transaction_is_delivered_as_deleted
            moved_key_is_an_update
            outdated_object_gets_the_missed_changes_first
            object_deleted_before_the_subscription_gets_one_delivery
            current_object_gets_no_first_delivery
            subscription_takes_its_place_in_the_order_of_calls
            object_callbacks_come_before_result_callbacks_and_the_completion
            committed_state_is_visible_inside_a_callback
            wait_inside_a_callback_is_refused
            change_performed_inside_a_callback_runs_afterwards
            stream_of_an_object_ends_with_its_deletion
        }
        cancelling {
            cancel_stops_callbacks
            cancel_stops_pending_first_deliveries
            cancel_inside_its_own_callback_is_the_last_call
            cancel_waits_for_a_callback_that_is_running
            dropped_subscription_is_cancelled
            dropping_does_not_wait_for_a_callback_that_is_running
            callback_that_panics_is_not_called_again_and_the_others_are
            callbacks_may_end_any_subscription
        }
        results {
            first_delivery_of_a_query_is_its_result
            query_of_a_type_never_written_gets_an_empty_result_and_then_changes
            result_that_is_current_gets_no_first_delivery
            outdated_result_gets_a_first_delivery
            outdated_result_that_is_still_right_gets_no_delivery
            result_follows_insertions_updates_and_deletions_in_order
            result_gets_one_delivery_a_transaction
            result_gets_no_delivery_of_other_changes
            limited_result_stays_exact
            limited_result_is_filled_up_after_deletions
            result_limited_to_nothing_gets_no_delivery
            delivered_result_can_be_subscribed_to_again
            many_subscribers_are_all_notified
            results_are_delivered_in_the_order_of_commits
            subscription_of_a_query_in_a_snapshot_is_refused
            cancelled_result_gets_no_delivery
            stream_of_a_query_gives_the_latest_result
            stream_wakes_its_waiting_task
            result_fetched_in_a_transaction_can_be_subscribed_to
            first_delivery_corrects_the_result_of_an_aborted_transaction
            first_delivery_corrects_the_result_of_an_old_snapshot
            subscription_made_inside_a_handler_starts_after_it
            subscription_made_inside_a_callback_starts_after_it
            objects_that_hold_nan_are_not_delivered_again
        }
    }
    indexes {
        indexing {
            an_index_added_later_is_built_in_the_background
            indexes_are_built_on_demand
            wait_for_indexes_ends_after_a_shutdown
            duplicates_from_before_a_unique_index_stay_and_are_reported
            object_changed_while_an_index_is_built_has_its_new_values_in_it
            older_versions_leave_no_stale_entries
            index_may_become_unique_or_stop_being_unique
            changed_default_changes_no_answer
        }
        contained {
            unique_of_a_contained_value_refuses_a_second_one
            no_indexes_lets_contained_values_repeat
            indexes_of_contained_values_can_be_turned_off_and_on
        }
        duplicates {
            duplicates_in_a_unique_index_are_reported_with_their_keys
            duplicates_in_a_unique_index_stay_until_they_are_resolved
        }
        declared_indexes {
            queries_served_by_declared_indexes_agree_with_reading_all
            unique_index_over_several_fields_refuses_equal_combinations
            unique_index_with_a_condition_ignores_other_objects
            declared_indexes_are_ready_from_the_first_write
            index_with_a_condition_serves_queries_that_imply_its_condition
            index_over_several_fields_serves_their_order
        }
    }
    dictionaries {
        dictionary {
            value_of_each_type_is_readable_at_once_and_stored
            serde_value_is_read_back
            a_value_of_another_type_is_an_error_that_names_both
            a_key_that_was_never_read_can_be_removed_and_set
            namespaces_are_separate
            keys_are_those_in_the_file_and_in_memory
            updates_by_many_threads_lose_nothing
            dictionary_update_can_remove_a_key
            shutdown_writes_all_set_values
            random_work_agrees_with_a_map
        }
        dictionary_changes {
            a_transaction_changes_values_with_objects
            a_transaction_that_fails_changes_no_value
            undone_savepoint_changes_no_dictionary_value
            panic_in_a_savepoint_loses_no_direct_dictionary_change
            transactions_in_a_row_build_on_one_another
            every_way_to_perform_changes_has_the_dictionary
            a_direct_change_waits_for_the_transaction_that_uses_the_key
            transaction_must_declare_the_dictionary
        }
        settings {
            each_change_of_a_key_is_delivered_on_the_thread_that_sets_it
            a_key_without_a_value_is_delivered_as_missing
            nothing_is_delivered_after_the_subscription_was_cancelled
            a_value_of_another_type_is_delivered_as_an_error
            a_callback_may_set_its_own_key
            a_subscription_to_a_prefix_gets_each_of_its_keys
            a_value_set_by_a_transaction_is_delivered_before_its_completion
            changes_by_many_threads_are_delivered_in_one_order
            a_stream_gives_each_value
        }
    }
    workspaces {
        evolution {
            update_by_older_code_keeps_fields_of_newer_code
            update_without_changes_by_older_code_writes_nothing
            older_code_replaces_unknown_values_that_it_writes
            members_of_vectors_keep_their_unknown_fields
            ambiguous_members_are_refused_and_the_transaction_goes_on
            upsert_by_older_code_keeps_fields_of_newer_code
            older_code_never_replaces_the_newest_schema
            older_code_finds_objects_of_newer_code_by_its_indexes
            newer_code_finds_objects_of_older_code_by_its_indexes
            index_unknown_to_older_code_gives_right_answers
            index_removed_by_newer_code_gives_right_answers
            random_changes_by_older_code_change_nothing_else
        }
        endings {
            shutdown_finishes_queued_work
            every_call_after_shutdown_fails_with_shut_down
            work_after_shutdown_is_completed_with_the_error
            second_shutdown_does_no_harm
            two_threads_may_shut_down_at_once
            shutdown_of_an_unused_workspace_succeeds
            shutdown_inside_a_handler_is_refused
            shutdown_inside_a_callback_is_refused
            shutdown_then_inside_a_handler_lets_the_handler_finish
            snapshot_held_across_shutdown_ends
            subscribers_of_queued_work_are_notified_before_shutdown_ends
            dropping_the_last_workspace_finishes_queued_work
            dropping_one_of_two_workspaces_ends_nothing
            last_workspace_may_be_dropped_inside_a_handler
            last_workspace_may_be_dropped_with_a_retrying_handler
            subscription_outlives_its_workspace_without_harm
            callback_may_own_the_last_workspace
            callback_that_cancels_itself_may_own_the_last_workspace
        }
        stats {
            new_workspace_has_zero_stats
            transactions_are_counted_by_how_they_end
            conflicts_are_counted
            commit_groups_are_counted_with_their_sizes
            deliveries_are_counted
            lookups_are_counted_with_those_that_were_saved
            stats_have_the_age_of_the_oldest_snapshot
        }
    }
}
