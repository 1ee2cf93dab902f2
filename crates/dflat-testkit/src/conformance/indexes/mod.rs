//! Laws of indexes.

laws! { ($) indexes_laws of indexes;
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
    choices {
        choice_among_several_indexes_changes_no_answer
        choice_among_several_indexes_changes_no_answer_in_a_transaction
        place_of_a_changed_object_starts_its_page_exactly
    }
}
