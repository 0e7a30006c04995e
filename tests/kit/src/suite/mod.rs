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

pub mod destruction;
pub mod field;
pub mod field_replay;
pub mod lifecycle;
pub mod memory;
pub mod ordering;
pub mod peers;
mod work;

registry! { $
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
    destruction {
        a_graph_dropped_in_flight_finishes,
        a_buffer_dropped_in_flight_is_reused_after_its_work,
        a_kernel_dropped_in_flight_finishes,
        a_device_dropped_in_flight_closes,
        devices_come_and_go,
        destroying_twice_is_harmless,
        handles_may_be_dropped_in_other_threads,
        a_thread_that_ends_loses_nothing,
        a_drop_in_a_window_is_deferred,
        dropping_the_stream_aborts_its_window,
        an_answer_may_be_dropped,
        an_abandoned_window_taints_only_what_it_would_have_written,
    }
    lifecycle { a_full_cycle_seals_a_graph_that_replays }
}
