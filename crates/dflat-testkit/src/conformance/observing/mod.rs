//! Laws of subscriptions.

laws! { ($) observing_laws of observing;
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
    grouping {
        groups_have_the_order_and_the_place_for_null_that_was_asked_for
        groups_are_of_the_state_that_the_query_reads
        query_with_a_window_has_no_groups
        groups_are_delivered_only_when_one_of_them_changes
        sum_that_does_not_fit_is_an_error_until_it_fits
        live_groups_equal_a_model_and_a_fresh_read_after_every_commit
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
