//! Options of HIP's compiler as NVRTC takes them.

/// For a device of that compute capability. What both take alike, and what neither knows, is passed on.
pub(super) fn translated(options: &[String], capability: i32) -> Vec<String> {
    let mut made = vec![format!("--gpu-architecture=sm_{capability}")];
    for option in options {
        let architecture = option.starts_with("--offload-arch=") || option.starts_with("--gpu-architecture=");
        match option.as_str() {
            "-ffp-contract=off" => made.push("--fmad=false".to_owned()),
            "-ffp-contract=fast" | "-ffp-contract=on" => made.push("--fmad=true".to_owned()),
            "-ffast-math" => made.push("--use_fast_math".to_owned()),
            // NVRTC optimises as it likes.
            "-O0" | "-O1" | "-O2" | "-O3" => {}
            _ if architecture => {}
            _ => made.push(option.clone()),
        }
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_the_same_is_spelled_anew() {
        let given = ["--offload-arch=gfx000", "-std=c++17", "-ffp-contract=off", "-O3", "-DWG_SUBGROUP_SIZE=32u"];
        let made = translated(&given.map(str::to_owned), 90);
        assert_eq!(made, ["--gpu-architecture=sm_90", "-std=c++17", "--fmad=false", "-DWG_SUBGROUP_SIZE=32u"]);
        let made = translated(&["-ffp-contract=fast".to_owned(), "-fno-such".to_owned()], 75);
        assert_eq!(made, ["--gpu-architecture=sm_75", "--fmad=true", "-fno-such"]);
    }
}
