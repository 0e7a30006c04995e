//! The suite at the driver waist: what each method of [`Driver`](graphreel::graph::Driver) promises, by what a caller can observe.
//!
//! It keeps the simulator truthful: what it answers is what the vendors' drivers answer. Each test's line says the vendors'
//! rule; where CUDA and HIP are documented to differ, both answers pass. A driver names itself by a [`Fixture`] and
//! writes `graphreel_testkit::waist_conformance!(MyFixture);` in a test file.

mod code;
mod fixture;
mod held;
mod kernels;
mod nodes;
mod rig;

pub mod captures;
pub mod contexts;
pub mod executables;
pub mod graphs;
pub mod launches;
pub mod memory;
pub mod misuse;
pub mod relaxed;
pub mod streams;

pub use code::{Code, Params};
pub use fixture::{Fixture, Opened, run};
pub use held::Held;
pub use rig::Rig;

registry! { $ waist_conformance waist
    streams {
        a_streams_work_runs_in_order,
        an_event_orders_two_streams,
        an_event_that_was_never_recorded_holds_nobody,
        a_wait_is_for_the_record_before_it,
        an_event_stands_for_its_last_record,
        a_pending_event_may_be_destroyed,
        an_event_can_be_asked_from_any_thread,
        times_between_events_add_up,
        a_pending_time_is_not_ready,
    }
    memory {
        copies_of_every_direction_keep_every_byte,
        a_fill_sets_its_words_only,
        allocations_are_aligned_and_apart,
        freed_memory_can_be_had_again,
        what_is_held_is_counted_as_used,
        running_out_of_memory_is_its_own_kind_and_hurts_nothing,
    }
    launches {
        a_kernel_takes_scalars_addresses_and_lengths,
        a_length_bounds_what_a_kernel_reaches,
        every_workgroup_of_a_grid_runs,
        an_indirect_launch_runs_what_its_counts_say,
        counts_are_read_when_the_launch_runs,
        an_indirect_kernel_sees_its_counts_as_the_grid,
        parameters_are_copied_during_the_call,
        a_kernel_has_attributes,
        a_kernel_has_all_the_workgroup_memory_of_the_device,
        a_module_may_be_loaded_and_unloaded_again,
    }
    captures {
        a_capture_records_and_does_not_run,
        the_state_of_a_stream_follows_its_capture,
        a_graph_keeps_the_parameters_of_its_capture,
        host_bytes_are_read_at_each_launch,
        host_bytes_are_written_at_each_launch,
        the_tail_is_the_last_node,
        a_captured_node_can_be_updated,
        a_stream_captures_again_and_again,
        two_streams_capture_apart,
    }
    relaxed {
        memory_may_come_and_go_in_a_capture,
        code_may_be_loaded_in_a_capture,
        events_may_be_asked_in_a_capture,
        other_streams_work_in_a_capture,
        other_threads_work_in_a_capture,
        another_thread_may_end_a_capture,
    }
    graphs {
        a_diamond_keeps_its_order,
        independent_nodes_all_run,
        edges_can_be_added_later,
        copies_and_fills_are_nodes,
        nodes_are_counted,
        branches_of_a_recording_give_its_result,
    }
    executables {
        an_executable_outlives_its_graph,
        an_executable_is_a_snapshot,
        an_executable_may_be_uploaded_first,
        launches_keep_the_order_of_their_stream,
        launches_of_one_executable_do_not_overlap,
        an_update_reaches_later_launches_only,
        a_launch_node_takes_another_grid_and_buffer,
        copy_and_fill_nodes_take_other_addresses,
        executables_of_one_graph_are_updated_apart,
        a_whole_graph_updates_an_executable_of_its_shape,
    }
    contexts {
        a_thread_gets_back_what_it_had,
        a_thread_starts_in_global_mode,
        a_driver_says_what_it_can_do,
    }
    misuse {
        a_capture_in_a_capture_is_refused_and_the_first_goes_on,
        ending_no_capture_is_refused,
        a_wait_for_an_outside_event_breaks_the_capture,
        a_wait_from_outside_for_a_captured_event_is_no_fork,
        asking_a_captured_event_breaks_the_capture,
        an_executable_is_not_launched_into_a_capture,
        an_edge_that_exists_is_refused,
        an_edge_to_itself_is_refused,
        a_time_that_nobody_recorded_is_refused,
        a_function_that_is_not_there_is_refused,
        shapes_that_do_not_fit_are_refused,
    }
}
