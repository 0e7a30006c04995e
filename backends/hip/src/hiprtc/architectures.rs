//! Which architectures a hipRTC may be asked for: several releases end the process when they are given a name that they do not know.

/// The release from which hipRTC answers an architecture that it does not know, where earlier ones end the process.
const REFUSES_UNKNOWN: (u32, u32) = (7, 0);

/// What is known of a hipRTC.
#[derive(Clone, Debug)]
pub(super) struct Architectures {
    /// What its compiler knows, or why that cannot be told.
    pub(super) known: Result<Vec<String>, String>,
    /// The release that it is of; `None` where nothing tells.
    pub(super) release: Option<(u32, u32)>,
}

impl Architectures {
    /// Why hipRTC must not be asked for this one, which may have features, as `gfx90a:xnack-`.
    pub(super) fn check(&self, architecture: &str) -> Result<(), String> {
        let base = architecture.split(':').next().unwrap_or_default();
        match &self.known {
            Ok(known) if known.iter().any(|one| one == base) => Ok(()),
            Ok(known) => {
                let like = known.iter().filter(|one| one.get(..4) == base.get(..4)).map(String::as_str);
                let like: Vec<&str> = like.collect();
                Err(format!("its compiler does not know it: update ROCm; those nearest are {}", like.join(", ")))
            }
            Err(_) if self.release >= Some(REFUSES_UNKNOWN) => Ok(()),
            Err(why) => Err(format!("whether its compiler knows it cannot be told, and it may end the process: {why}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(known: Result<Vec<String>, String>, release: Option<(u32, u32)>) -> Result<(), String> {
        Architectures { known, release }.check("gfx90a:xnack-")
    }

    fn silent(release: Option<(u32, u32)>) -> Result<(), String> {
        asked(Err("AMD's libamd_comgr is not there".to_owned()), release)
    }

    #[test]
    fn a_compiler_that_cannot_be_asked_is_trusted_from_7_0_on_alone() {
        for release in [Some((6, 0)), Some((6, 4)), Some((6, 99)), None] {
            let why = silent(release).expect_err("it ends the process by a name that it does not know");
            assert!(why.contains("may end the process: AMD's libamd_comgr is not there"), "{why}");
        }
        for release in [(7, 0), (7, 2), (8, 0)] {
            assert_eq!(silent(Some(release)), Ok(()), "it answers");
        }
    }

    #[test]
    fn a_compiler_that_answers_is_believed_in_every_release() {
        let known = |names: &[&str]| Ok(names.iter().map(|name| (*name).to_owned()).collect());
        for release in [None, Some((6, 4)), Some((7, 2))] {
            assert_eq!(asked(known(&["gfx906", "gfx90a"]), release), Ok(()));
            let why = asked(known(&["gfx906", "gfx942", "gfx1100"]), release).expect_err("it is not among them");
            assert!(why.contains("does not know it") && why.ends_with("nearest are gfx906, gfx942"), "{why}");
        }
    }
}
