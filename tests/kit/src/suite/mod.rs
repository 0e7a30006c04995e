//! The suite's entries by topic. The list below is the only one: it makes the modules' tests and the macro for backends.

pub mod abandoned;
pub mod arguments;
pub mod closure;
pub mod destruction;
pub mod errors;
pub mod field;
pub mod field_replay;
pub mod lifecycle;
pub mod loss;
pub mod matrix;
pub mod memory;
pub mod neighbours;
pub mod ordering;
pub mod params;
pub mod peers;
pub mod random;
pub mod replay;
pub mod retry;
pub mod shaders;
pub mod sources;
pub mod staging;
pub mod taint;
pub mod waits;
mod work;

pub use crate::fixture::run;

registry! { $ conformance suite
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
    random {
        random_programs_give_the_models_bytes,
        random_programs_give_the_models_bytes_in_tight_bounds,
    }
    destruction {
        a_graph_dropped_in_flight_finishes,
        a_buffer_dropped_in_flight_is_reused_after_its_work,
        a_kernel_dropped_in_flight_finishes,
        a_device_dropped_in_flight_closes,
        devices_come_and_go,
        destroying_twice_is_harmless,
        handles_may_be_dropped_in_other_threads,
        a_thread_that_ends_loses_nothing,
        calls_from_the_end_of_a_thread_are_answered,
        a_drop_in_a_window_is_deferred,
        dropping_the_stream_aborts_its_window,
        an_answer_may_be_dropped,
        an_abandoned_window_taints_only_what_it_would_have_written,
    }
    errors {
        wgsl_that_does_not_parse,
        wgsl_that_is_not_valid,
        entry_points_that_are_not_there,
        overrides_that_do_not_fit,
        kernels_beyond_the_device,
        native_kernels_of_another_vendor,
        ranges_that_do_not_fit,
        sizes_that_cannot_be_allocated,
        more_bytes_than_the_devices_limit,
        more_bytes_than_an_accounts_limit,
        an_allocation_that_fails_in_a_window_dooms_it,
        handles_of_another_device,
        a_destroyed_graph_is_unknown,
        a_policy_that_cannot_be_met,
    }
    field {
        scratch_freed_in_a_window_is_safe_under_concurrent_allocation,
        after_any_failing_step_the_next_capture_works,
        the_first_capture_of_a_device_is_a_graph,
        eager_execution_is_never_silent,
        a_kernel_may_be_compiled_in_the_window,
        dropping_graphs_and_kernels_in_a_window_is_safe,
        a_replay_in_ones_own_window_is_refused,
        a_host_write_in_the_window_is_recorded_or_dooms,
        a_graph_that_is_not_here_is_refused,
        other_streams_are_not_drawn_into_a_window,
        graphs_of_one_stream_have_no_edges_between_them,
        a_broken_capture_names_the_operation,
        a_window_on_the_wrong_stream_is_empty,
    }
    field_replay {
        fresh_devices_replay_bit_equal_to_eager,
        an_indirect_launch_follows_its_counts,
        eager_indirect_counts_of_another_stream_are_ordered,
        a_host_copy_out_is_refused_in_the_window_and_given_once,
        random_replays_follow_the_eager_sequence,
        a_handled_failure_does_not_stick,
        an_update_is_all_or_nothing_and_lasts,
        replayed_nodes_equal_the_report,
        a_deadline_ends_the_wait_only,
        a_nonce_comes_back_from_every_replay,
        another_thread_does_not_disturb_a_window,
        streams_are_isolated_from_a_window,
        a_partial_write_keeps_the_rest,
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
        loss_while_reads_wait,
        loss_while_a_thread_reads,
        loss_while_replays_run,
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
    memory {
        dropped_intermediates_are_not_handed_out_again,
        a_buffer_that_escapes_shares_nothing_with_one_dropped_before,
        an_allocation_in_a_window_takes_nothing_that_the_window_writes,
        trim_and_growth_leave_graphs_right,
        a_graph_keeps_the_bytes_of_its_uploads,
        a_buffer_outlives_the_graph_that_allocated_it,
        a_capture_over_the_limit_is_refused_before_it_records,
        bytes_pinned_are_told_by_graph_and_fall_with_it,
        a_panic_in_the_closure_leaves_the_device_usable,
        any_size_may_be_allocated_in_a_window,
        launches_recorded_after_a_warmup_survive_eager_churn,
        a_warmed_up_recording_asks_the_driver_for_no_memory,
        a_hundred_captures_leave_pool_bytes_constant,
        work_between_replays_leaves_a_graph_right,
        running_out_of_memory_in_a_window_is_its_own_failure,
        an_account_pays_for_what_it_and_its_graphs_hold,
        captures_and_replays_do_not_grow_memory,
        primed_memory_returns_however_the_window_ends,
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
    ordering {
        a_replay_sees_the_write_before_it,
        a_read_waits_for_the_replay,
        write_replay_and_read_on_three_streams_are_ordered,
        graphs_of_one_shape_are_independent,
        writes_do_not_overtake_copies,
        partial_writes_between_launches_keep_their_order,
        overlapping_replays_of_one_graph_are_serialised,
        replays_from_many_threads_lose_nothing,
        graphs_may_be_replayed_in_any_order,
        an_output_shows_the_last_replay,
        a_wide_fan_out_keeps_every_edge,
        a_chain_over_many_streams_is_a_chain,
        a_writer_waits_for_readers_of_other_streams,
        threads_with_work_of_their_own_do_not_disturb_each_other,
        a_buffer_may_be_handed_to_another_thread,
        replays_leave_memory_constant,
    }
    params {
        a_scalar_changes_and_stays,
        a_frozen_scalar_is_listed_and_verified,
        an_update_does_not_reach_back,
        an_update_is_all_or_nothing,
        updates_that_do_not_fit,
        a_slot_takes_another_buffer,
        a_range_that_no_operation_takes_is_refused,
        a_slot_keeps_its_buffer_alive,
        a_grid_changes_within_its_maximum,
        one_name_means_one_thing,
        an_update_touches_only_what_changes,
        a_closure_run_again_updates_or_is_refused,
        an_undeclared_buffer_cannot_change,
        scalars_of_every_type_arrive,
    }
    peers {
        a_neighbour_is_neither_recorded_nor_blamed,
        sealing_launders_nothing,
        a_replay_launders_nothing,
        nothing_breaks_a_window_from_inside,
        other_threads_cannot_invalidate_a_window,
        an_input_of_another_stream_is_no_fork,
        an_allocation_in_a_window_fails_at_its_call,
        every_later_use_is_ordered_across_streams,
        a_long_replay_is_cut_as_reported_and_mistakes_are_errors,
        graph_errors_can_be_matched,
        destroying_a_graph_does_not_wait,
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
    retry {
        a_refused_replay_is_tried_again_on_the_same_device,
        a_lost_device_is_replaced_for_the_next_attempt,
        a_job_that_always_fails_ends_with_its_attempts,
    }
    shaders {
        add, argmax, dense, fill, gelu, histogram, increment, layer_norm, matmul, mul, prefix_sum, reduce_sum, saxpy,
        softmax, spin, transpose,
    }
    sources {
        files_of_any_part_arrive,
        reads_may_run_ahead_or_not,
        work_behind_a_read_sees_its_bytes,
        many_reads_share_few_threads,
        reads_outlive_another_configuration,
        reads_that_do_not_fit,
        a_file_that_is_cut_meanwhile_fails_the_read,
        a_cancelled_read_leaves_no_result,
        a_read_of_a_lost_device_fails,
        a_read_in_a_window_is_a_host_write,
    }
    staging {
        staged_writes_keep_their_order,
        staged_writes_of_any_length,
        many_staged_writes_in_flight,
        an_owners_staged_write_dooms_or_is_recorded,
        a_neighbours_staged_write_is_refused_or_done,
        a_promised_write_that_fails_taints_until_it_is_written,
        staged_writes_that_do_not_fit,
        staging_memory_outlives_its_device,
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
        a_failure_passed_on_does_not_grow,
        an_outside_writer_releases,
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
