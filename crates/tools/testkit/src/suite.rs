//! The list of all cases, the macro that makes tests of them, and the way to run them by hand.

use crate::cases;
use crate::{Check, Harness};

/// One case of the suite.
#[derive(Clone, Copy)]
pub struct Case {
    /// Its group and name: `batches::a_duplicate_stops_the_batch`.
    pub name: &'static str,
    /// The function to run. It returns the first thing that is wrong.
    pub run: fn(&dyn Harness) -> Check,
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Runs every case and returns those that failed, with their reasons. An empty list means that all passed.
///
/// Tests use [`conformance!`](crate::conformance) instead, which generates one test for each case.
#[must_use]
pub fn run(harness: &dyn Harness) -> Vec<(&'static str, crate::Failure)> {
    let failed = |case: &Case| (case.run)(harness).err().map(|failure| (case.name, failure));
    CASES.iter().filter_map(failed).collect()
}

/// What each test of [`conformance!`](crate::conformance) calls.
///
/// # Panics
/// If the case fails, with its reason.
#[doc(hidden)]
#[allow(clippy::panic, reason = "this is a test's body")]
pub fn assert_passes(harness: &dyn Harness, run: fn(&dyn Harness) -> Check) {
    if let Err(failure) = run(harness) {
        panic!("{failure}");
    }
}

macro_rules! suite {
    ($d:tt $($group:ident { $($case:ident,)+ })+) => {
        /// Every case, in order.
        pub const CASES: &[Case] = &[$($(Case {
            name: concat!(stringify!($group), "::", stringify!($case)),
            run: cases::$group::$case,
        },)+)+];

        /// Generates one `#[test]` for each case of the suite, in a module for each group.
        ///
        /// It takes an expression that is a [`Harness`](crate::Harness), such as the name of a
        /// function that returns a [`Fixture`](crate::Fixture). Use it in a module of its own: see
        /// the [crate's example](crate).
        #[macro_export]
        macro_rules! conformance {
            ($d harness:expr) => {$(
                mod $group {
                    #[allow(unused_imports)]
                    use super::*;
                    $(
                        #[test]
                        fn $case() {
                            $d crate::assert_passes(&$d harness, $d crate::cases::$group::$case);
                        }
                    )+
                }
            )+};
        }
    };
}

suite! { $
    schema {
        a_new_store_is_empty,
        tables_come_back_as_they_were_made,
        rules_come_back_as_they_were_made,
        names_of_indexes_belong_to_their_table,
        indexes_may_be_wide_and_have_long_names,
        names_may_be_strange,
        a_table_may_have_256_columns,
        a_table_is_created_once,
        changes_are_made_all_or_none,
        an_added_column_gives_old_rows_its_default,
        an_added_column_without_a_default_is_null_or_empty,
        a_wrong_column_is_rejected,
        an_index_is_added_to_a_full_table,
        a_unique_index_over_duplicates_is_rejected,
        open_sessions_see_changes,
    }
    alterations {
        tables_and_columns_are_renamed,
        foreign_keys_follow_new_names,
        columns_are_dropped_and_added,
        rules_change,
        a_rule_that_rows_break_changes_nothing,
        foreign_keys_come_and_go,
        a_change_of_another_table_is_rejected,
        a_change_rolls_back_with_its_transaction,
        a_tracked_table_keeps_its_log,
    }
    checks {
        a_constraint_means_the_same_on_every_engine,
        a_constraint_runs_no_other_sql,
    }
    generated {
        generated_columns_follow_every_write,
        generated_columns_follow_batches,
        generated_values_must_fit,
        generated_columns_come_and_go,
        unique_generated_columns,
        generated_parts_of_documents,
    }
    keys {
        the_engine_gives_one_more_than_the_largest,
        the_engine_gives_keys_that_no_row_has,
        a_failed_insert_takes_no_key,
        integer_keys_have_their_whole_range,
        keys_end_at_the_largest_integer,
        a_negative_largest_key_counts,
        a_key_is_there_once,
        text_keys_are_compared_by_their_bytes,
        texts_have_the_length_that_the_engine_says,
        uuid_keys_are_bytes,
        composite_keys_are_taken_in_key_order,
        a_table_may_be_all_key,
        keys_of_deleted_rows_are_not_used_again,
    }
    lists {
        lists_of_many_values,
        lists_of_every_length,
    }
    described {
        other_columns_keep_their_values,
        changes_find_columns_by_name,
        batches_find_columns_by_name,
        reads_find_columns_by_name,
        other_columns_have_their_defaults,
        a_column_is_added_to_a_wider_table,
        missing_columns_are_rejected,
    }
    values {
        every_type_keeps_its_extremes,
        all_types_in_one_row,
        null_is_a_value_of_its_own,
        values_of_a_megabyte,
        sizes_that_jump_in_a_batch,
        an_any_column_keeps_classes,
    }
    writes {
        a_row_lives_and_dies,
        an_update_sets_its_fields_only,
        an_update_needs_its_fields_only,
        field_sets_are_not_mixed_up,
        an_update_needs_its_row,
        insert_or_ignore,
        insert_or_ignore_keeps_other_rules,
        insert_or_replace,
        upsert,
        upsert_updates_by_its_key_only,
        upsert_of_no_field,
        upsert_on_a_unique_column,
        upsert_on_several_columns_and_collations,
        upsert_on_a_unique_column_keeps_every_kind_of_key,
        upsert_on_a_unique_column_raises_the_version,
        upsert_on_a_unique_column_in_a_batch,
        a_failed_write_changes_nothing,
    }
    rules {
        a_unique_value_is_there_once,
        a_unique_pair_is_there_once,
        unique_values_change_hands,
        collations_decide_what_is_a_duplicate,
        collations_look_behind_a_nul,
        not_null_is_kept,
        a_default_does_not_stand_for_null,
        not_null_comes_before_duplicates,
        checks_are_kept,
        a_check_names_its_columns,
    }
    links {
        a_link_needs_its_row,
        restrict_rejects_the_delete,
        a_delete_of_rows_names_the_link_that_keeps_them,
        cascade_deletes_the_others,
        set_null_cuts_the_link,
        a_rollback_brings_the_others_back,
        batches_keep_links_row_by_row,
        batches_keep_links_inside_a_table,
        a_link_to_a_unique_column,
        links_of_several_columns,
    }
    versions {
        an_update_needs_the_version,
        every_update_raises_it,
        upserts_raise_it_unchecked,
        changes_raise_it,
        batches_check_and_raise_it,
        versions_end_at_the_largest_integer,
        what_is_undone_does_not_count,
    }
    changes {
        set_values,
        the_condition_sees_the_rows_as_they_were,
        add_numbers,
        an_overflow_changes_nothing,
        a_sum_must_be_a_value_of_its_column,
        a_duplicate_changes_nothing,
        delete_rows,
        changes_are_rolled_back,
    }
    conditions {
        compare_numbers_and_bytes,
        compare_texts,
        compare_any,
        compare_columns,
        one_of_a_list,
        like_patterns,
        like_is_for_texts,
        prefixes,
        is_null,
        logic,
        ranges,
        large_conditions,
        changes_take_the_same_rows,
    }
    patterns {
        like_with_an_escape,
        parts_and_suffixes,
    }
    selects {
        orders,
        mixed_classes_have_an_order,
        large_orders,
        limit_and_offset,
        paging_by_key,
        chosen_columns,
        aggregates,
        aggregates_over_nothing,
        sums_are_exact,
        groups,
        groups_of_several_columns,
        a_reader_may_stop,
    }
    batches {
        an_empty_batch,
        verbs_and_tables_mix,
        field_sets_alternate,
        the_first_error_stops_the_batch,
        the_others_go_on,
        all_rows_may_fail,
        a_batch_inside_a_transaction,
        rows_see_those_before,
        a_missing_table_in_a_batch,
    }
    long_batches {
        keys_of_a_long_run,
        given_keys_in_a_long_run,
        a_duplicate_in_a_long_run,
        duplicates_inside_a_long_run,
        ignored_and_replaced_rows,
        long_runs_of_the_other_verbs,
        long_runs_of_other_keys,
        nothing_is_left_of_the_row_before,
    }
    search {
        a_query_finds_the_same_rows_everywhere,
        words_are_the_same_everywhere,
        the_index_follows_every_write,
        the_index_follows_transactions,
        results_are_ranked_filtered_and_paged,
        tables_with_any_key_are_searched,
        searches_are_described_and_altered,
        only_texts_are_searched,
    }
    vectors {
        the_nearest_rows_are_the_same_everywhere,
        vectors_are_stored_and_described,
        the_nearest_rows_follow_transactions,
        no_calls_from_inside_the_nearest_rows,
        distances_are_exact_at_the_limits,
        wrong_vectors_are_rejected,
        equal_distances_are_sorted_by_any_key,
    }
    row_locks {
        a_lock_needs_a_transaction_and_rows,
        locked_rows_are_left_to_their_transaction,
    }
    transactions {
        commit_and_rollback,
        a_rollback_undoes_every_verb,
        an_error_leaves_the_transaction,
        savepoints_nest,
        outer_marks_take_inner_ones_along,
        marks_of_the_same_name,
        steps_that_do_not_fit,
        names_of_marks,
        a_dropped_session_rolls_back,
        tables_are_made_and_undone,
        columns_are_added_and_undone,
        a_long_transaction,
    }
    subqueries {
        columns_of_subqueries,
        subqueries_of_several_columns,
        nested_subqueries,
        changes_by_subqueries,
    }
    joins {
        functions_of_rows,
        window_functions,
        queries_inside_of_others,
        rows_of_queries,
    }
    cursors {
        parts_of_64_kib,
        rows_larger_than_a_part,
        an_empty_cursor,
        steady_while_the_session_writes,
        steady_over_the_ends_of_transactions,
        steady_over_savepoints,
        steady_through_a_transaction,
        many_open_at_once,
        more_than_there_are_connections,
        steady_while_the_schema_changes,
        closed_cursors,
        a_session_goes_with_its_cursors,
        cursors_agree_with_queries,
        opening_may_fail,
    }
    readers {
        commits_are_seen_at_once,
        readers_see_whole_transactions,
        rows_handed_out_are_of_one_moment,
        no_calls_from_inside_a_query,
        a_second_writer_is_busy,
        writers_of_different_rows_do_not_wait,
        two_writers_meet_at_a_row,
        what_was_read_holds_until_the_commit,
        a_schema_change_is_a_writer,
        a_flush_disturbs_nobody,
        writers_on_several_threads,
        readers_beside_a_writer,
    }
    errors {
        a_missing_table,
        places_are_named,
        messages_are_one_line,
        sql_where_there_is_none,
        the_session_goes_on,
    }
    reopen {
        everything_is_there_again,
        it_is_opened_often,
        what_was_not_committed_is_gone,
        values_are_the_same_bits,
        grown_tables_are_there_again,
        keys_of_deleted_rows_stay_used,
    }
    sql {
        parameters_keep_their_class,
        rows_and_names,
        statements_that_write,
        wrong_statements,
        one_statement_with_its_parameters,
        lists_without_values,
    }
    sql_types {
        typed_parameters_are_values_of_their_type,
        sums_of_money_are_amounts,
    }
    value_parts {
        ranges_of_a_value,
        values_are_written_from_a_source,
        a_wrong_source_changes_nothing,
        other_columns_have_no_parts,
    }
    plans {
        a_filter_without_an_index_gets_advice,
    }
    feed {
        every_verb_is_written_down,
        changes_and_batches_are_written_down,
        what_is_undone_is_not_written_down,
        what_foreign_keys_do_is_written_down,
        names_are_no_sql,
        every_type_is_written_down,
        times_never_go_back,
        callers_are_written_down,
        added_columns_are_written_down,
        the_feed_keeps_to_itself,
        a_table_whose_triggers_are_gone_is_rejected,
        sql_is_written_down,
        a_page_knows_where_the_last_transaction_ends,
        it_goes_on_after_reopening,
    }
}
