//! The lock that the models are made of excludes.

use graphreel_shuttle::sync::{Arc, Mutex, thread};

#[test]
fn a_lock_keeps_two_threads_apart() {
    let model = || {
        let count = Arc::new(Mutex::new(0));
        let other = thread::spawn({
            let count = count.clone();
            move || *count.lock() += 1
        });
        *count.lock() += 1;
        other.join().unwrap();
        assert_eq!(*count.lock(), 2);
    };
    shuttle::check_random(model, 100);
}
