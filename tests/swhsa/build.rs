//! Gives the library the name under which AMD's HIP runtime asks for it.

fn main() {
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libhsa-runtime64.so.1");
    }
    println!("cargo:rerun-if-changed=build.rs");
}
