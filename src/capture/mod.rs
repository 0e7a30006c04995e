//! The capture state machine, and the order of graph calls around it (spec C, sections 3 to 12).
