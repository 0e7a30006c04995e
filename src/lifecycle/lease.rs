//! Who owns the devices of this process: one backend exclusively, or any number of direct users, never both (B-56, B-60).
//!
//! It is one claim over all vendors and ordinals, since one device can be visible through two of them.

use std::collections::BTreeMap;

use crate::error::ServerError;
use crate::lifecycle::error::{QueryError, QueryErrorCode, QueryResult, operation};
use crate::lifecycle::inventory::normalize_device_ordinals;
use crate::process;
use crate::sync::{Arc, Mutex};

static CLAIMS: Mutex<Claims> = Mutex::new(Claims { live: None, direct: BTreeMap::new(), next_direct: 0 });

struct Claims {
    live: Option<Arc<[usize]>>,
    direct: BTreeMap<u64, Arc<str>>,
    next_direct: u64,
}

/// The exclusive claim of a backend. Its drop frees the claim at once (B-57).
#[derive(Debug)]
pub struct LiveBackendLease {
    token: LiveBackendToken,
}

/// Tells that a claim was made when it was given. It does not extend the claim (B-58).
#[derive(Clone, Debug)]
pub struct LiveBackendToken {
    ordinals: Arc<[usize]>,
    claimed: bool,
}

/// The shared hold of one direct user. Its drop ends it.
#[derive(Debug)]
pub struct DirectUse {
    key: u64,
}

/// Claim the devices of this process for one backend, whatever its ordinals. It touches no device and does not ask whether
/// they exist.
///
/// # Errors
///
/// Those of [`normalize_device_ordinals`]; `backend_already_live` while another claim exists; `device_in_direct_use` while
/// a device is open directly, with the first `holder` and the count of `holders`.
pub fn claim_live_backend(ordinals: &[usize]) -> QueryResult<LiveBackendLease> {
    let ordinals: Arc<[usize]> = normalize_device_ordinals(ordinals)?.into();
    if let Some(why) = process::ending_reason() {
        let message = format!("no backend is built any more: {why}");
        return Err(QueryError::new(QueryErrorCode::Cancelled, operation::BUILD, message).with_reason("process_ending"));
    }
    let mut claims = CLAIMS.lock();
    if let Some(live) = &claims.live {
        let message =
            "a backend of this process is live, or its close is not done; close it and wait, then build again";
        let error = QueryError::new(QueryErrorCode::ServiceOverloaded, operation::BUILD, message);
        return Err(error.with_reason("backend_already_live").with_fact("live_ordinals", format!("{live:?}")));
    }
    if let Some(holder) = claims.direct.values().next() {
        let message = format!("{holder} is open directly; drop it, or build with `GpuBackendConfig::unleased()`");
        let error = QueryError::new(QueryErrorCode::ServiceOverloaded, operation::BUILD, message);
        let error = error.with_reason("device_in_direct_use").with_fact("holder", holder);
        return Err(error.with_fact("holders", claims.direct.len()));
    }
    claims.live = Some(ordinals.clone());
    Ok(LiveBackendLease { token: LiveBackendToken { ordinals, claimed: true } })
}

impl LiveBackendLease {
    /// A lease that claims nothing and refuses nobody, for `GpuBackendConfig::unleased()`.
    ///
    /// # Errors
    ///
    /// Those of [`normalize_device_ordinals`].
    pub fn unleased(ordinals: &[usize]) -> QueryResult<Self> {
        let ordinals = normalize_device_ordinals(ordinals)?.into();
        Ok(Self { token: LiveBackendToken { ordinals, claimed: false } })
    }

    /// The proof of this claim.
    pub fn token(&self) -> LiveBackendToken {
        self.token.clone()
    }

    /// The claimed ordinals, ascending.
    pub fn ordinals(&self) -> &[usize] {
        &self.token.ordinals
    }

    /// Keep the claim for the rest of the process: nobody may meet devices whose work is unknown (B-152).
    pub fn forget(mut self) {
        self.token.claimed = false;
    }
}

impl LiveBackendToken {
    /// The claimed ordinals, ascending.
    pub fn ordinals(&self) -> &[usize] {
        &self.ordinals
    }
}

impl Drop for LiveBackendLease {
    fn drop(&mut self) {
        // In a process that ends, the lock may belong to a thread that is gone, and nobody claims any more.
        if self.token.claimed && !process::is_ending() {
            CLAIMS.lock().live = None;
        }
    }
}

/// Hold the devices of this process for one direct user; `what` names it for the one who is refused because of it.
///
/// # Errors
///
/// [`ServerError::DevicesOwned`] while a backend is live.
pub fn hold_direct(what: &str) -> Result<DirectUse, ServerError> {
    let what: Arc<str> = what.into();
    if let Some(why) = process::ending_reason() {
        return Err(ServerError::closed(what, why));
    }
    let mut claims = CLAIMS.lock();
    if let Some(ordinals) = claims.live.clone() {
        return Err(ServerError::DevicesOwned { what, ordinals });
    }
    let key = claims.next_direct;
    claims.next_direct += 1;
    claims.direct.insert(key, what);
    Ok(DirectUse { key })
}

impl Drop for DirectUse {
    fn drop(&mut self) {
        if !process::is_ending() {
            CLAIMS.lock().direct.remove(&self.key);
        }
    }
}

/// For tests that claim: while the guard lives, no other such test of this process runs.
#[cfg(any(test, feature = "test-hooks"))]
pub fn one_claiming_test() -> crate::sync::MutexGuard<'static, ()> {
    static TESTS: Mutex<()> = Mutex::new(());
    TESTS.lock()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(ordinals: &[usize]) -> QueryError {
        claim_live_backend(ordinals).unwrap_err()
    }

    /// B-56, B-57, B-60.
    #[test]
    fn one_claim_at_a_time_whatever_its_ordinals() {
        let _alone = one_claiming_test();
        assert_eq!(refusal(&[]).reason(), Some("no_devices"));
        assert_eq!(refusal(&[3, 3]).reason(), Some("duplicate_device_ordinal"));
        let lease = claim_live_backend(&[usize::MAX - 1, 5]).unwrap();
        assert_eq!((lease.ordinals(), lease.token().ordinals()), (&[5, usize::MAX - 1][..], &[5, usize::MAX - 1][..]));
        for ordinals in [&[5][..], &[6], &[usize::MAX]] {
            let error = refusal(ordinals);
            assert_eq!(error.code(), QueryErrorCode::ServiceOverloaded, "QB-20");
            assert_eq!(error.reason(), Some("backend_already_live"));
        }
        let token = lease.token();
        drop(lease);
        drop(claim_live_backend(&[5]).expect("B-58: a token does not extend its claim"));
        assert_eq!(token.ordinals(), [5, usize::MAX - 1]);
    }

    /// B-56: direct use and a backend refuse each other by name.
    #[test]
    fn direct_use_and_a_backend_exclude_each_other() {
        let _alone = one_claiming_test();
        let held = [hold_direct("wgpu device 0").unwrap(), hold_direct("sim device 1").unwrap()];
        let error = refusal(&[7]);
        assert_eq!((error.code(), error.reason()), (QueryErrorCode::ServiceOverloaded, Some("device_in_direct_use")));
        let facts = (error.fact_value("holder"), error.fact_value("holders"));
        assert_eq!(facts, (Some("wgpu device 0"), Some("2")));
        drop(held);
        let lease = claim_live_backend(&[2, 7]).unwrap();
        let error = hold_direct("sim device 1").unwrap_err();
        assert!(matches!(&error, ServerError::DevicesOwned { ordinals, .. } if ordinals[..] == [2, 7]), "{error}");
        let text = error.to_string();
        assert!(text.contains("sim device 1") && text.contains("[2, 7]") && text.contains("unleased"), "{text}");
        drop(lease);
        drop(hold_direct("sim device 1").unwrap());
    }

    /// B-56: who opts out is refused by nobody, and refuses nobody.
    #[test]
    fn an_unleased_backend_claims_nothing() {
        let _alone = one_claiming_test();
        let held = hold_direct("sim device 1").unwrap();
        let unleased = LiveBackendLease::unleased(&[4, 1]).unwrap();
        drop(held);
        let claimed = claim_live_backend(&[1]).unwrap();
        let beside = LiveBackendLease::unleased(&[1]).unwrap();
        assert_eq!((unleased.ordinals(), beside.ordinals()), (&[1, 4][..], &[1][..]));
        drop((unleased, beside));
        assert_eq!(refusal(&[1]).reason(), Some("backend_already_live"), "their drop frees no other's claim");
        drop(claimed);
    }
}
