//! Which failure owns which bytes (spec C, section 13).
