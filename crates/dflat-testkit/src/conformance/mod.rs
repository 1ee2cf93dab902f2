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
            snapshot_of_nothing_stays_empty
            snapshot_covers_all_types
            closures_snapshot_is_fixed_by_its_first_fetch
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
            limit_takes_the_first_of_the_order
            limit_of_zero_is_nothing
            limit_applies_after_the_condition
            first_is_the_first_or_none
            filters_add_up
            comparisons_hold_as_written
            contradictory_bounds_find_nothing
            logic_is_three_valued
            logic_is_three_valued_with_indexes
            constants_are_conditions
            in_finds_each_object_once
            in_of_nothing_is_false_and_not_in_of_nothing_is_what_has_a_value
            in_takes_ten_thousand_values
            in_with_order_and_limit_is_exact
            deep_conditions_are_evaluated
            whole_key_with_more_conditions_checks_them
            a_range_in_the_order_of_its_index_with_a_limit
            indexes_follow_updates_and_deletions
            result_is_an_immutable_slice
        }
        expressions {
            arithmetic_computes
            overflow_is_missing
            division_by_zero_is_missing
            strings_are_tested
            between_and_not_in_leave_out_what_is_missing
            members_of_vectors_are_asked_for
            members_that_are_missing_leave_it_open
            flags_are_tested
            order_goes_by_what_is_nested_and_computed
            order_can_be_given_by_value
            live_results_follow_what_is_computed
            condition_of_another_type_is_refused
        }
        windows {
            offset_passes_over_the_first_of_the_order
            pages_have_each_object_once
            pages_stay_right_under_writes
            place_of_another_order_is_refused
            live_result_of_a_window_stays_exact
            objects_stream_in_batches_of_one_state
            objects_stream_inside_a_transaction
            counts_count
            sums_means_and_extremes_are_computed
            fields_are_read_alone
            many_keys_are_looked_up_at_once
            cancelled_and_late_reads_are_given_up
        }
        plans {
            a_condition_is_served_by_its_key
            sides_of_a_disjunction_are_looked_up
            many_rows_of_two_indexes_are_intersected
            prefix_of_a_composite_key_is_a_range
            an_order_with_a_limit_is_read_off_its_index
            pages_behind_many_equal_values_are_exact
            pages_behind_a_replaced_object_are_those_of_all_rows
            a_place_of_another_value_of_a_fixed_key_is_before_or_behind_all
            a_range_of_most_objects_ends_with_reading_all
            a_value_of_most_objects_ends_with_reading_all
            counts_need_the_index_alone
            in_of_ten_thousand_keys_is_exact
        }
        defects {
            limit_unindexed_sort
            live_limit_move_out
            live_limit_refill
            live_spurious
            bool_less_than
            string_equality
            union_none
            in_huge
            uint32_large_and_uint64_large
            mod_zero
            add_overflow
        }
        paths {
            members_of_structs_are_queried
            fields_of_nested_tables_are_queried
            default_in_a_nested_table_holds_where_the_table_is
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
            a_large_transaction_agrees_with_a_model_whatever_becomes_of_what_it_inserts
            a_large_transaction_that_is_aborted_leaves_nothing
            a_group_that_begins_a_transaction_is_undone_however_large_it_is
            durability_asked_for_in_a_group_that_is_undone_leaves_what_was_before_it
            no_object_gets_the_identity_of_one_that_was_not_committed
            nested_groups_of_many_insertions_are_kept_and_undone
            a_request_made_before_many_insertions_replaces_what_is_stored
            subscribers_that_register_during_a_large_import_get_the_deliveries_of_any_commit
            large_transactions_of_several_threads_lose_nothing
        }
        changes {
            created_object_is_read_back
            vectors_of_everything_are_read_back
            data_read_back_and_saved_again_is_the_identity
            missing_key_is_none
            composite_key_is_compared_by_all_its_parts
            submit_returns_inserted_identity_updated_or_deleted
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
        retrying {
            retrying_forms_run_a_handler_once_if_no_other_process_commits
            blocking_retrying_transaction_fails_like_any_other
            handlers_that_have_write_access_first_do_not_meet
            transaction_with_write_access_first_fails_like_any_other
        }
        writes_by_query {
            all_that_meet_a_condition_are_changed
            all_that_meet_a_condition_are_deleted
            a_conflict_undoes_the_whole_write_and_the_transaction_goes_on
            writes_by_query_make_the_deliveries_of_single_writes
            a_write_by_query_of_an_undeclared_type_is_refused
        }
        copying {
            copies_have_every_object
            a_copy_passes_over_what_is_there
            a_copy_that_failed_goes_on_where_it_ended
            a_copy_takes_turns_with_others
            a_copy_does_not_overwrite_a_unique_value
            a_copy_inside_a_handler_would_deadlock
        }
        transactions {
            handlers_may_hold_a_quarter_of_a_megabyte
            abort_undoes_what_was_before_and_after
            abort_before_any_change_is_reported
            handlers_error_rolls_back_and_reaches_the_handle
            handlers_panic_rolls_back_and_reaches_the_handle
            undeclared_type_is_an_error_and_the_transaction_goes_on
            no_type_at_all_is_an_invalid_argument
            type_named_twice_is_as_good_as_once
            several_types_commit_together
            only_the_transaction_sees_its_uncommitted_writes
            workspace_on_the_handlers_thread_refuses_undeclared_types
            transaction_sees_its_own_updates_and_deletions_in_indexes
            empty_transaction_succeeds
            overlapping_types_run_in_the_order_of_calls
            disjoint_handlers_can_meet_before_their_first_submit
            many_threads_with_overlapping_types_do_not_deadlock
            performing_inside_a_handler_is_queued
            waiting_inside_a_handler_would_deadlock
            awaiting_inside_a_handler_would_deadlock
            handle_can_be_awaited
            completion_is_called_once_with_the_outcome
            completion_given_late_is_called_at_once
            completion_that_panics_fails_no_transaction
            detached_and_dropped_handles_do_not_cancel
            many_queued_transactions_all_commit
            one_slow_handler_does_not_hold_up_another_type
            failing_transactions_in_a_queue_take_no_neighbour_along
            acknowledged_changes_are_seen_by_every_reader_at_once
        }
        nested {
            group_that_fails_is_undone_and_the_rest_is_kept
            group_that_succeeds_is_kept
            groups_can_be_nested
            undone_changes_are_never_delivered
            keys_that_changed_places_in_an_undone_group_are_back
            conflict_inside_a_group_leaves_it_usable
            panic_in_a_group_undoes_the_group_and_goes_on
            abort_in_a_group_aborts_the_transaction
            objects_of_an_undone_group_are_looked_up_again
            request_of_an_undone_group_starts_from_what_is_stored
            row_ids_of_undone_objects_are_not_used_again
            transaction_whose_only_changes_are_undone_succeeds
            error_that_loses_the_transaction_loses_it_in_a_group_too
            undone_group_is_not_written_again_with_its_transaction
            random_groups_leave_what_the_model_has
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
            blocking_inside_a_handler_or_callback_would_deadlock
            blocking_after_shutdown_says_so_and_before_is_finished
        }
        transaction_defects {
            update_pk_collision
            update_unique_collision
            cross_table_index_cache
            nested_snapshot
            vector_of_structs
            stale_upsert
            cancel_outdated
            cancel_race
            multi_type_deadlock
            duplicate_type
            querybuilder_leak
            blocking_shutdown_inside_callbacks
            thread_explosion
            uint32_large_and_uint64_large
            double_submit
            subscribe_aborted_insert
            requests_outside_a_transaction
            undeclared_type
            try_submit_on_a_duplicate
            completion_only_says_whether
            fetch_hides_errors
        }
        groups {
            members_see_what_their_predecessors_made_of_an_object_fetched_before
            member_may_wait_for_its_predecessors_completion
            member_that_has_written_may_wait_for_its_predecessors_completion
            waiting_for_a_predecessor_takes_only_milliseconds
            finished_member_does_not_wait_for_a_slow_successor
            keys_that_changed_places_survive_being_written_again
            table_that_an_undone_member_created_is_created_again
            conflict_in_a_member_leaves_it_and_its_neighbours_usable
            each_member_is_visible_to_all_when_its_completion_is_called
            commits_of_all_types_are_delivered_in_one_order
            lone_transaction_is_committed_at_once
            slow_completion_does_not_hold_up_the_next_transaction
            subscription_in_a_queue_takes_its_place_between_two_members
            settling_waits_for_queued_work_and_what_follows_from_it
            settling_inside_a_handler_would_deadlock
        }
    }
    observing {
        live {
            update_has_the_inserted_removed_and_changed_objects
            count_is_delivered_only_when_it_changes
            count_that_comes_back_while_it_waits_is_not_delivered
            projection_is_delivered_only_when_a_selected_value_changes
            projection_distinguishes_zero_and_minus_zero
            projection_that_waits_distinguishes_zero_and_minus_zero
            without_initial_only_changes_are_delivered
            executor_runs_callbacks_and_no_commit_waits_for_it
            job_that_is_dropped_is_made_up_for
            stream_with_room_gives_every_delivery
            stream_without_room_makes_one_of_many
            changes_that_cancel_out_make_no_delivery
            a_transaction_that_changes_an_object_back_makes_no_delivery
            stream_subscribes_when_it_is_polled
            iterator_waits_for_deliveries_and_ends_with_the_object
            waiting_for_a_delivery_inside_a_handler_is_refused
            watch_holds_the_latest
            callback_that_panics_ends_only_its_subscription_with_an_error
            stuck_subscriber_delays_no_other_and_gets_the_rest_as_one_delivery
            workspace_can_be_shut_down_while_a_subscriber_is_stuck
            callbacks_that_cancel_each_other_both_return
            the_same_query_twice_gets_the_same_deliveries
            window_follows_without_being_fetched_as_long_as_rows_beside_it_last
            query_that_comes_after_one_of_many_ranges_gets_everything
        }
        racing {
            a_result_that_others_change_while_it_is_subscribed_to_misses_and_repeats_nothing
            a_window_that_others_change_while_it_is_subscribed_to_misses_and_repeats_nothing
            an_object_that_others_change_while_it_is_subscribed_to_misses_and_repeats_nothing
        }
        sharing {
            objects_that_did_not_change_are_shared_with_the_result_before
            subscribers_of_one_result_share_its_list
            a_list_that_changes_by_rows_in_any_place_is_what_a_fetch_gives
        }
        objects {
            update_is_delivered_before_its_transaction_completes
            one_transaction_makes_one_delivery_of_its_final_state
            identity_is_never_published
            rolled_back_changes_are_never_published
            subscribers_of_other_objects_are_not_notified
            deletion_ends_the_subscription_and_a_new_object_is_another
            object_deleted_and_created_again_in_one_transaction_is_delivered_as_deleted
            moved_key_is_an_update
            outdated_object_gets_the_missed_changes_first
            object_deleted_before_the_subscription_gets_one_delivery
            current_object_gets_no_first_delivery
            subscription_takes_its_place_in_the_order_of_calls
            callbacks_come_objects_first_then_results_then_completion
            committed_state_is_visible_inside_a_callback
            waiting_inside_a_callback_would_deadlock
            change_performed_inside_a_callback_runs_afterwards
            stream_of_an_object_ends_with_its_deletion
        }
        cancelling {
            cancel_stops_callbacks
            cancel_stops_the_catching_up_too
            cancel_inside_its_own_callback_is_the_last_call
            cancel_waits_for_a_callback_that_is_running
            dropped_subscription_is_cancelled
            dropping_does_not_wait_for_a_callback_that_is_running
            callback_that_panics_is_not_called_again_and_others_are
            callbacks_may_end_whatever_else_is_subscribed
        }
        results {
            query_gets_its_result_first
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
            result_of_an_aborted_transaction_is_put_right_first
            result_of_an_old_snapshot_is_put_right_first
            subscription_made_inside_a_handler_starts_after_it
            subscription_made_inside_a_callback_starts_after_it
            objects_that_hold_nan_are_not_delivered_again
        }
    }
    indexes {
        indexing {
            an_index_added_later_is_built_in_the_background
            indexes_are_built_on_demand
            a_shutdown_says_that_indexes_are_not_built
            unique_upgrade
            backfill_stale_update
            older_versions_leave_no_stale_entries
            an_index_may_become_unique_and_a_unique_one_may_not_be_any_more
            a_default_that_changed_changes_no_answer
        }
        duplicates {
            what_is_there_twice_together_is_reported_with_its_keys
            what_is_there_twice_together_stays_until_it_is_mended
        }
        declared_indexes {
            queries_served_by_declared_indexes_agree_with_reading_all
            values_that_are_unique_together_are_refused_together
            a_unique_index_of_some_objects_refuses_nothing_beyond_them
            declared_indexes_are_ready_from_the_first_write
            plans_use_an_index_of_some_objects_where_the_query_asks_for_no_others
            plans_use_the_order_of_several_fields
        }
    }
    dictionaries {
        dictionary {
            a_value_of_each_type_is_there_at_once_and_stored
            a_value_of_serdes_is_read_back
            a_value_of_another_type_is_an_error_that_names_both
            a_key_that_was_never_read_can_be_removed_and_set
            namespaces_are_separate
            keys_are_those_in_the_file_and_in_memory
            updates_by_many_threads_lose_nothing
            an_update_can_remove
            what_was_set_is_written_before_the_shutdown_ends
            random_work_agrees_with_a_map
        }
        dictionary_changes {
            a_transaction_changes_values_with_objects
            a_transaction_that_fails_changes_no_value
            a_group_of_changes_that_is_undone_changes_no_value
            a_panic_in_a_group_of_changes_loses_no_direct_change
            transactions_in_a_row_build_on_one_another
            every_way_to_perform_changes_has_the_dictionary
            a_direct_change_waits_for_the_transaction_that_uses_the_key
            a_transaction_must_name_the_dictionary
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
            update_by_older_code_keeps_what_newer_code_wrote
            identity_of_older_code_writes_nothing
            unknown_values_give_way_to_what_older_code_writes_instead
            members_of_vectors_keep_what_is_hidden_in_them
            ambiguous_members_are_refused_and_the_transaction_goes_on
            upsert_by_older_code_keeps_what_newer_code_wrote
            older_code_never_replaces_the_newest_schema
            older_code_finds_by_its_indexes_what_newer_code_wrote
            newer_code_finds_by_its_indexes_what_older_code_wrote
            index_that_older_code_does_not_know_never_lies
            index_that_newer_code_gave_up_never_lies
            random_changes_by_older_code_change_nothing_else
        }
        endings {
            shutdown_finishes_what_was_queued
            after_shutdown_everything_says_so
            work_after_shutdown_is_completed_with_the_error
            second_shutdown_does_no_harm
            two_threads_may_shut_down_at_once
            shutdown_of_an_unused_workspace_succeeds
            shutdown_inside_a_handler_would_deadlock
            shutdown_inside_a_callback_would_deadlock
            shutdown_then_inside_a_handler_lets_the_handler_finish
            snapshot_held_across_shutdown_ends
            subscribers_of_queued_work_are_notified_before_shutdown_ends
            dropping_the_last_workspace_finishes_what_was_queued
            dropping_one_of_two_workspaces_ends_nothing
            last_workspace_may_be_dropped_inside_a_handler
            last_workspace_may_be_dropped_with_a_retrying_handler
            subscription_outlives_its_workspace_without_harm
            callback_may_hold_the_last_workspace
            callback_that_cancels_itself_may_hold_the_last_workspace
        }
        stats {
            nothing_done_is_nothing_counted
            transactions_are_counted_by_how_they_end
            conflicts_are_counted
            groups_are_counted_with_their_sizes
            deliveries_are_counted
            look_ups_are_counted_with_those_that_read_nothing
            oldest_snapshot_is_known_while_it_is_held
        }
    }
}
