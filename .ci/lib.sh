# Shared by the scripts beside it: where the repository is, and how what is missing gets installed. Sourced, not run.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 1

# The expectation files of the WebGPU conformance test suite, where they lie beside the repository.
if [ -z "${GRAPHREEL_CTS_DIR+set}" ] && [ -d "$root/../shared/cts" ]; then
    GRAPHREEL_CTS_DIR=$(cd "$root/../shared/cts" && pwd)
    export GRAPHREEL_CTS_DIR
fi

say() { printf '== %s\n' "$*"; }

# Run a phase under its name, then print how long it took. Failure stops the script.
phase() {
    local name=$1 started=$SECONDS
    shift
    say "$name"
    if ! "$@"; then
        say "$name: FAILED after $((SECONDS - started)) s"
        exit 1
    fi
    say "$name: $((SECONDS - started)) s"
}

# Run as root: directly, or through sudo where that asks for no password or a terminal is there to ask on.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
        sudo "$@"
    else
        return 1
    fi
}

# install_packages WHY PACKAGE...: with apt where there is one, else say what to install and go on.
install_packages() {
    local why=$1
    shift
    if ! command -v apt-get >/dev/null; then
        say "$why. This is no Debian: install what it calls \"$*\" with your package manager. Going on without."
        return 0
    fi
    say "$why. Installing $*"
    if as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq </dev/null >/dev/null &&
        as_root env DEBIAN_FRONTEND=noninteractive \
            apt-get install -y -qq --no-install-recommends "$@" </dev/null >/dev/null; then
        return 0
    fi
    say "Could not install $*. Install them by hand: apt-get install $*. Going on without."
}

# Whether some Vulkan driver is likely to find a device: the software driver always does, others need a device node.
vulkan_is_there() {
    local file
    # Debian keeps ldconfig where only root's PATH leads.
    PATH=$PATH:/usr/sbin:/sbin ldconfig -p 2>/dev/null | grep -q 'libvulkan\.so\.1' || return 1
    [ -z "${VK_DRIVER_FILES:-}${VK_ICD_FILENAMES:-}" ] || return 0
    for file in /usr/share/vulkan/icd.d/*.json /etc/vulkan/icd.d/*.json /usr/local/share/vulkan/icd.d/*.json; do
        case $file in
            *'*'*) ;;
            *lvp*) return 0 ;;
            *nvidia*) [ ! -e /dev/nvidiactl ] || return 0 ;;
            *) ! compgen -G '/dev/dri/renderD*' >/dev/null || return 0 ;;
        esac
    done
    return 1
}

# A compiler, a linker and a Vulkan device: what a build and a run need. Does nothing where they are there.
prepare() {
    if ! command -v cargo >/dev/null && [ -x "$HOME/.cargo/bin/cargo" ]; then
        PATH="$HOME/.cargo/bin:$PATH"
    fi
    if ! command -v cargo >/dev/null; then
        say "cargo was not found. Install Rust 1.90 or later, as https://rustup.rs describes, and run this again."
        exit 1
    fi
    # Without it Mesa's window-system code complains on standard error, though no window is opened.
    export XDG_RUNTIME_DIR=${XDG_RUNTIME_DIR:-$root}
    command -v cc >/dev/null || install_packages "No C linker was found" gcc libc6-dev
    if [ "$(uname -s)" = Linux ] && ! vulkan_is_there; then
        install_packages "No Vulkan device was found, so the software one is used" libvulkan1 mesa-vulkan-drivers
    fi
}

# Where compilers that the tests need are kept: beside what cargo builds, so that `cargo clean` takes them along.
vendor_folder() {
    local folder=${CARGO_TARGET_DIR:-target}/vendor
    mkdir -p "$folder"
    (cd "$folder" && pwd)
}

# hip_runtime SUITE: put the folder of its runtime in `found`; fails where it cannot be had. Ends the script where something is
# wrong on this side, which is no reason to skip anything.
hip_runtime() {
    local status=0
    found=$(.ci/hip "$1") || status=$?
    case $status in
        0 | 1) return "$status" ;;
        *)
            say "HIP of Debian $1: FAILED, which is no want of packages"
            exit 1
            ;;
    esac
}

# AMD's HIP runtime of each suite of Debian that can be had, with its compiler. Sets the variables by which tests find them.
hip_runtimes() {
    local found
    if [ -z "${GRAPHREEL_HIPRTC:-}" ] && hip_runtime testing; then
        export GRAPHREEL_HIPRTC=$found
    fi
    if [ -z "${GRAPHREEL_HIP_EXPERIMENTAL:-}" ]; then
        if hip_runtime experimental; then
            export GRAPHREEL_HIP_EXPERIMENTAL=$found
        else
            say "HIP of Debian experimental: SKIPPED. The HIP backend is not held against the newest headers and libraries"
        fi
    fi
}

# What compiles generated C++: g++, and the vendors' compilers, which need no GPU. Sets the variables by which tests find
# them. Where one cannot be had it says so, and tests skip it unless GRAPHREEL_REQUIRE names it.
compilers() {
    local found
    command -v g++ >/dev/null || install_packages "No g++ was found" g++
    if [ -z "${GRAPHREEL_NVRTC:-}" ] && found=$(.ci/nvrtc); then
        export GRAPHREEL_NVRTC=$found
    fi
    hip_runtimes
}

# The version of HIP that the sources last passed on, which the tests know.
hip_passed_on() { sed -n 's/^pub const PASSED_ON: &str = "\(.*\)";$/\1/p' tests/compilers/src/hip.rs; }
