//! The suite's entries by topic. The list below is the only one: it makes the modules' tests and the macro for backends.

/// Makes `conformance!`, which turns every entry into a `#[test]` of the crate that uses it.
///
/// `$d` is a dollar sign: the macro that is made has a variable of its own.
macro_rules! registry {
    ($d:tt $($topic:ident { $($test:ident),* $(,)? })*) => {
        /// Every entry of the suite, as `topic::name`.
        pub const ENTRIES: &[&str] = &[$($(concat!(stringify!($topic), "::", stringify!($test)),)*)*];

        /// One `#[test]` for each entry of the suite, run on the fixture given.
        #[macro_export]
        macro_rules! conformance {
            ($d fixture:ident) => {
                $(mod $topic {
                    use super::$d fixture;
                    $(
                        #[test]
                        fn $test() {
                            let name = concat!(stringify!($topic), "::", stringify!($test));
                            $d crate::run::<$d fixture, _>(name, $d crate::suite::$topic::$test);
                        }
                    )*
                })*
            };
        }
    };
}

pub mod abandoned;
pub mod arguments;
pub mod closure;
pub mod errors;
pub mod lifecycle;
pub mod loss;
pub mod matrix;
pub mod neighbours;
pub mod params;
pub mod replay;
pub mod taint;
pub mod waits;

registry! { $
    abandoned {
        an_end_by_another_stream_closes_and_reports,
        a_doomed_and_abandoned_window_reports_both,
        a_late_end_seals_no_other_window,
        an_owner_that_never_returns_locks_nobody_out,
        many_foreign_ends_at_once,
    }
    arguments {
        a_wrong_number_of_buffers,
        scalars_that_do_not_fit,
        a_buffer_that_is_too_small,
        a_bound_offset_that_is_not_aligned,
        an_access_that_the_kernel_does_not_have,
        written_ranges_that_overlap,
        copies_that_do_not_fit,
        grids_out_of_bounds,
        indirect_counts_that_do_not_fit,
        a_mistake_in_a_window_dooms_it_only,
    }
    closure {
        the_closure_runs_once_and_changes_nothing,
        a_panic_inside_is_an_error_and_leaves_nothing,
        an_error_inside_is_the_answer,
        a_refused_operation_is_not_recorded,
        an_empty_closure_is_refused,
        captures_of_one_device_do_not_nest,
        plain_handles_inside_are_refused_by_name,
        a_running_closure_taxes_nobody,
        captures_on_many_threads_are_apart,
    }
    errors {
        wgsl_that_does_not_parse,
        wgsl_that_is_not_valid,
        entry_points_that_are_not_there,
        overrides_that_do_not_fit,
        ranges_that_do_not_fit,
        sizes_that_cannot_be_allocated,
        more_bytes_than_the_devices_limit,
        more_bytes_than_an_accounts_limit,
        an_allocation_that_fails_in_a_window_dooms_it,
        handles_of_another_device,
        a_destroyed_graph_is_unknown,
        a_policy_that_cannot_be_met,
    }
    lifecycle {
        a_full_cycle_seals_a_graph_that_replays,
        calls_out_of_order_change_nothing,
        an_abort_from_any_state_frees_the_slot,
        begin_and_abort_know_the_owner,
        a_doomed_window_gives_its_failure_and_no_graph,
        a_window_inherits_nothing_from_the_one_before,
        an_empty_window_is_refused_by_name,
        a_window_may_move_between_threads,
        a_dropped_stream_leaves_no_window,
        many_windows_closed_in_every_way,
    }
    loss {
        loss_while_idle,
        loss_while_others_wait,
        loss_inside_a_window,
        the_second_attempt_succeeds,
        the_loss_of_one_device_is_its_own,
    }
    matrix {
        the_owners_work_is_recorded_and_does_not_run,
        an_owners_write_dooms_or_is_recorded,
        an_owners_read_and_sync_do_not_doom,
        a_profile_in_a_window_is_refused,
        an_owners_replay_in_its_window_is_refused,
        memory_and_kernels_can_be_made_in_a_window,
        a_prepared_window_refuses_nothing_but_a_second_one,
        other_slots_are_unaffected,
        a_profile_on_another_slot_runs,
    }
    neighbours {
        a_neighbours_launches_run_and_are_not_recorded,
        a_neighbours_read_and_sync_are_refused_or_answered,
        deferred_waits_end_with_the_window,
        a_neighbours_write_is_refused_or_done,
        a_neighbours_replay_runs,
        a_neighbours_errors_are_its_own,
        drops_in_a_window_wait_for_their_users,
    }
    params {
        a_scalar_changes_and_stays,
        a_frozen_scalar_is_listed_and_verified,
        an_update_does_not_reach_back,
        an_update_is_all_or_nothing,
        updates_that_do_not_fit,
        a_slot_takes_another_buffer,
        a_slot_keeps_its_buffer_alive,
        a_grid_changes_within_its_maximum,
        one_name_means_one_thing,
        an_update_touches_only_what_changes,
        a_closure_run_again_updates_or_is_refused,
        an_undeclared_buffer_cannot_change,
        scalars_of_every_type_arrive,
    }
    replay {
        outputs_follow_inputs,
        uploaded_bytes_belong_to_the_graph,
        nothing_is_laundered_before_a_replay,
        a_tainted_input_refuses_the_replay,
        what_a_graph_writes_first_is_no_input,
        a_replay_on_unwritten_scratch_runs,
        a_failed_replay_taints_and_the_next_releases,
        a_replay_that_ran_nothing_can_be_retried,
        a_replay_that_faulted_needs_its_inputs_again,
        a_faulted_replay_of_pure_outputs_can_be_repeated,
    }
    taint {
        unwritten_bytes_cannot_be_read,
        an_unsealed_window_taints_what_it_would_have_written,
        siblings_are_tainted_and_released_apart,
        whatever_writes_releases,
        a_tainted_input_runs_nothing_and_passes_on,
        tainted_counts_run_nothing,
        a_part_written_needs_the_rest_readable,
        the_first_failure_stays,
        a_taint_dies_with_its_buffer,
        a_taint_is_seen_on_every_stream,
        a_tainted_input_dooms_a_window,
        a_read_names_its_own_buffer,
    }
    waits {
        a_deadline_ends_the_wait_only,
        a_read_can_be_waited_for_again,
        plain_reads_and_syncs_wait,
        a_configured_bound_ends_plain_waits,
        answers_can_be_awaited,
        many_futures_at_once,
        many_threads_await_one_replay,
        a_wait_does_not_hold_the_device,
        dropping_an_answer_does_not_stop_the_work,
    }
}
