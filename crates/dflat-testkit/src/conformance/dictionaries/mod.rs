//! Laws of the dictionary.

laws! { ($) dictionaries_laws of dictionaries;
    dictionary {
        value_of_each_type_is_readable_at_once_and_stored
        serde_value_is_read_back
        integers_of_every_type_are_read_as_any_type_that_they_fit_in
        setting_none_removes_the_value
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
