//! Whether a device can run a kernel, told before its compiler is asked and in our own words.

use super::Reflection;
use crate::caps::Caps;

impl Reflection {
    /// Check what the entry point needs against what a device has.
    ///
    /// # Errors
    ///
    /// What is missing, as the text of a [`KernelProblem::Unsupported`](crate::error::KernelProblem::Unsupported).
    pub fn check(&self, caps: &Caps) -> Result<(), String> {
        let missing: Vec<&str> =
            self.needs.iter().filter(|need| !caps.features.contains(need)).map(String::as_str).collect();
        if !missing.is_empty() {
            return Err(format!("it needs {}, which this device does not have", missing.join(", ")));
        }
        let (size, most) = (self.workgroup_size, caps.workgroup_size_max);
        if size.iter().zip(most).any(|(size, most)| *size > most) {
            return Err(format!(
                "its workgroup size is {size:?}, and this device's largest is {most:?}; use a smaller one"
            ));
        }
        let invocations = size.iter().map(|size| u64::from(*size)).product::<u64>();
        if invocations > u64::from(caps.workgroup_invocations_max) {
            let most = caps.workgroup_invocations_max;
            return Err(format!(
                "its workgroup has {invocations} invocations, and this device allows {most}; use a smaller one"
            ));
        }
        if self.workgroup_bytes > caps.workgroup_bytes_max {
            let (used, most) = (self.workgroup_bytes, caps.workgroup_bytes_max);
            return Err(format!("it uses {used} bytes of workgroup memory, and this device has {most}; use less"));
        }
        if self.bindings.len() > caps.bindings_max as usize {
            let (used, most) = (self.bindings.len(), caps.bindings_max);
            return Err(format!("it binds {used} buffers, and this device allows {most}; bind fewer"));
        }
        Ok(())
    }
}
