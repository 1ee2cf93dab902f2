//! Laws of workspaces: schemas of several versions, endings and counts.

laws! { ($) workspaces_laws of workspaces;
    copying {
        table_copy_has_every_object
        table_copy_skips_present_keys
        failed_table_copy_resumes_where_it_ended
        table_copy_takes_turns_with_transactions
        table_copy_does_not_overwrite_a_unique_value
        table_copy_inside_a_handler_is_refused
    }
    restoring {
        object_restored_by_older_code_keeps_what_newer_code_wrote
        data_of_an_object_lacks_what_a_restored_object_keeps
        restored_object_has_its_index_entries_and_its_deliveries
        restoration_can_be_optimistic_and_meets_conflicts
        bytes_that_newer_code_could_not_read_are_not_restored
    }
    shared_parts {
        payload_with_shared_strings_is_stored_read_and_changed
    }
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
        programs_that_differ_in_indexes_alone_drop_and_build_them
        random_changes_by_older_code_change_nothing_else
    }
    members_of_vectors {
        update_by_older_code_neither_loses_nor_swaps_data_of_members
        raised_members_keep_their_data_or_the_update_is_refused
    }
    required_unions {
        update_by_older_code_keeps_a_required_member_of_newer_code
        update_by_older_code_keeps_required_members_in_parts
        update_that_takes_away_a_required_member_is_refused_and_the_transaction_goes_on
    }
    endings {
        shutdown_finishes_queued_work
        every_call_after_shutdown_fails_with_shut_down
        every_call_of_the_dictionary_after_shutdown_fails_with_shut_down
        subscriptions_to_keys_end_at_shutdown
        every_call_of_upkeep_after_shutdown_fails_with_shut_down
        handler_that_was_queued_before_the_shutdown_reads_until_it_ends
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
