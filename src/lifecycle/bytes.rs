//! Bytes as operators read them: the exact count first, since that is what they paste into a configuration.

/// `"{n} bytes ({g} GiB)"` with two decimals, cut and not rounded (B-5): a limit and the value just above it must never
/// read as the same figure because one of them was rounded up.
pub fn bytes_with_gib(bytes: u64) -> String {
    let hundredths = (u128::from(bytes) * 100) >> 30;
    format!("{bytes} bytes ({}.{:02} GiB)", hundredths / 100, hundredths % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// XB-2, B-5.
    #[test]
    fn gib_figures_are_cut_and_never_rounded() {
        let vectors = [
            (0, "0 bytes (0.00 GiB)"),
            (268_435_455, "268435455 bytes (0.24 GiB)"),
            (268_435_456, "268435456 bytes (0.25 GiB)"),
            (1_073_741_823, "1073741823 bytes (0.99 GiB)"),
            (1_073_741_824, "1073741824 bytes (1.00 GiB)"),
            (102_005_473_280, "102005473280 bytes (95.00 GiB)"),
            (u64::MAX, "18446744073709551615 bytes (17179869183.99 GiB)"),
        ];
        for (bytes, text) in vectors {
            assert_eq!(bytes_with_gib(bytes), text);
        }
    }
}
