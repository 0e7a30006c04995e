//! Native kernels that are refused: by a compiler, in its words and with the author's line; or by a limit of the device, before
//! the driver sees them.

use graphreel::error::KernelProblem;
use graphreel::kernel::{KernelSource, NativeBuffer, NativeKernel, NativeLanguage};
use graphreel::{Access, Config, Device, Grid, ServerError};
use graphreel_testkit::env::assert_works;

use crate::rig::{capability, on_device};
use crate::sources::{self, AFFINE, declared, mix, mix_cubin, shift, shift_text, vouched};

#[track_caller]
fn refused(device: &Device, source: KernelSource) -> (KernelProblem, String) {
    match device.kernel(source).unwrap_err() {
        ServerError::InvalidKernel(error) => (error.problem.clone(), error.to_string()),
        other => panic!("{other:?}"),
    }
}

/// The 1-based line of `part`.
fn line_of(text: &str, part: &str) -> usize {
    text.lines().position(|line| line.contains(part)).expect("the text has it") + 1
}

#[test]
fn cuda_cpp_that_does_not_compile_is_shown_where() {
    on_device("cuda_cpp_that_does_not_compile_is_shown_where", Config::default(), |device, watch| {
        let before = watch.live();
        let bad = AFFINE.replace("x[i] + p.add", "x[i] + p.missing");
        let (problem, text) = refused(device, vouched(declared(NativeLanguage::CudaCpp, &bad, "affine")));
        assert!(matches!(problem, KernelProblem::Backend(_)), "{problem:?}");
        let place = format!("user.cu({})", line_of(&bad, "p.missing"));
        assert!(
            text.contains(&place) && text.contains("missing") && text.contains("kernel `affine`"),
            "{place}: {text}"
        );
        let option = declared(NativeLanguage::CudaCpp, AFFINE, "affine").option("--no-such-option");
        assert!(refused(device, vouched(option)).1.contains("no-such-option"));
        assert_eq!(watch.live(), before, "the driver was given nothing");
        assert_works(device);
    });
}

/// The driver compiles PTX, and its log has the line in the author's text.
#[test]
fn ptx_that_does_not_compile_is_shown_where() {
    on_device("ptx_that_does_not_compile_is_shown_where", Config::default(), |device, _| {
        let good = shift_text();
        for (was, is) in [
            ("mad.lo.u32 %r6, %r3, %r4, %r5;", "mad.lo.u32 %r6, %r3, %r4, %nothing;"),
            ("add.s64 %rd4, %rd2, %rd3;", "add.s64 %rd4, %rd2, %r3;"),
            ("st.global.u32 [%rd4], %r7;", "no.such.instruction %r7;"),
        ] {
            let bad = good.replace(was, is);
            assert_ne!(bad, good);
            let (problem, text) = refused(device, shift(&bad));
            assert!(matches!(problem, KernelProblem::Backend(_)), "{problem:?}");
            let place = format!("line {}", line_of(&bad, is));
            assert!(text.contains(&place) && text.contains("kernel `shift`"), "{is}: {place}: {text}");
        }
        device.kernel(shift(&good)).expect("the device goes on");
        assert_works(device);
    });
}

#[test]
fn code_for_another_device_and_code_without_the_kernel_are_refused() {
    on_device("code_for_another_device_and_code_without_the_kernel_are_refused", Config::default(), |device, _| {
        // Of another major version, which no cubin runs on.
        let other = if capability() / 10 == 9 { 80 } else { 90 };
        let (problem, text) = refused(device, mix(&mix_cubin(other)));
        assert!(matches!(problem, KernelProblem::Backend(_)) && text.contains("cuModuleLoadData"), "{text}");
        for (language, code) in [
            (NativeLanguage::CudaCpp, AFFINE.as_bytes().to_vec()),
            (NativeLanguage::Ptx, shift_text().into_bytes()),
            (NativeLanguage::Cubin, mix_cubin(capability())),
        ] {
            let (problem, text) = refused(device, vouched(declared(language, &code, "absent")));
            assert!(matches!(problem, KernelProblem::Backend(_)), "{problem:?}");
            assert!(text.contains("the code has no kernel `absent`") && text.contains("extern \"C\""), "{text}");
        }
        for language in [NativeLanguage::HipCpp, NativeLanguage::HipCodeObject, NativeLanguage::SpirV] {
            let code: &[u8] = match language {
                NativeLanguage::HipCpp => b"extern \"C\" __global__ void f() {}",
                NativeLanguage::HipCodeObject => b"\x7fELF and more",
                _ => b"\x03\x02\x23\x07 and more",
            };
            let (problem, text) = refused(device, vouched(declared(language, code, "f")));
            assert!(matches!(problem, KernelProblem::Unsupported(_)) && text.contains("CUDA does not run"), "{text}");
        }
        assert_works(device);
    });
}

/// Declarations beyond the device, of which no code is loaded.
#[test]
fn blocks_and_memory_beyond_the_device_never_reach_the_driver() {
    on_device("blocks_and_memory_beyond_the_device_never_reach_the_driver", Config::default(), |device, watch| {
        let caps = device.caps().clone();
        let empty = |size| NativeKernel::new(NativeLanguage::CudaCpp, "extern \"C\" __global__ void f() {}", "f", size);
        let before = watch.live();
        let threads = caps.workgroup_invocations_max;
        let [x, y, z] = caps.workgroup_size_max;
        let many = (0..=caps.bindings_max).fold(empty([64, 1, 1]), |kernel, index| {
            kernel.buffer(NativeBuffer::array(format!("b{index}"), Access::Read, 4))
        });
        for (kernel, part) in [
            (empty([threads, 2, 1]), "invocations"),
            (empty([x + 1, 1, 1]), "workgroup size"),
            (empty([1, y + 1, 1]), "workgroup size"),
            (empty([1, 1, z + 1]), "workgroup size"),
            (empty([u32::MAX; 3]), "workgroup size"),
            (empty([64, 1, 1]).shared_bytes(caps.workgroup_bytes_max + 1), "bytes of workgroup memory"),
            (empty([64, 1, 1]).shared_bytes(u32::MAX), "bytes of workgroup memory"),
            (empty([64, 1, 1]).need("tensor-cores"), "tensor-cores"),
            (many, "buffers"),
        ] {
            let (problem, text) = refused(device, vouched(kernel));
            assert!(matches!(problem, KernelProblem::Unsupported(_)) && text.contains(part), "{part}: {text}");
        }
        assert_eq!(watch.live(), before, "no code was loaded");
        device.kernel(vouched(empty([threads, 1, 1]))).expect("the largest block is none beyond");
        assert_works(device);
    });
}

/// What the compiled code needs is known once it is loaded, and no launch of it is tried.
#[test]
fn code_that_needs_more_than_the_device_has_is_refused_at_its_load() {
    on_device("code_that_needs_more_than_the_device_has_is_refused_at_its_load", Config::default(), |device, _| {
        let cpp = |code: &str, size| NativeKernel::new(NativeLanguage::CudaCpp, code, "f", size);
        let bounded = "extern \"C\" __global__ void __launch_bounds__(64) f() {}";
        let (problem, text) = refused(device, vouched(cpp(bounded, [128, 1, 1])));
        assert!(matches!(problem, KernelProblem::Unsupported(_)), "{problem:?}");
        assert!(text.contains("128 invocations") && text.contains("can run 64"), "{text}");
        // Both fit alone.
        let fixed = "extern \"C\" __global__ void f(unsigned* y, unsigned y_len) {
            __shared__ volatile unsigned tile[4096];
            tile[threadIdx.x] = y_len;
            y[0] = tile[y_len % 64u];
        }";
        let y = || NativeBuffer::array("y", Access::ReadWrite, 4);
        let most = device.caps().workgroup_bytes_max;
        let both = cpp(fixed, [64, 1, 1]).buffer(y()).shared_bytes(most - 16);
        let (problem, text) = refused(device, vouched(both));
        assert!(matches!(problem, KernelProblem::Unsupported(_)), "{problem:?}");
        assert!(text.contains("16384 bytes of workgroup memory") && text.contains(&format!("has {most}")), "{text}");
        // NVIDIA's assembler has a limit for what code declares itself.
        let large = fixed.replace("[4096]", "[65536]");
        let (problem, text) = refused(device, vouched(cpp(&large, [64, 1, 1]).buffer(y())));
        assert!(matches!(problem, KernelProblem::Backend(_)) && text.contains("shared"), "{text}");
        assert_works(device);
    });
}

/// Grids beyond the device, eagerly, in a capture and by an update: our own error, and nothing is launched.
#[test]
fn grids_beyond_the_device_never_reach_the_driver() {
    on_device("grids_beyond_the_device_never_reach_the_driver", Config::default(), |device, _| {
        let [kernel, _] = sources::times().map(|source| device.kernel(source).unwrap());
        let y = device.upload(&[3u32; 64]).unwrap();
        assert_eq!(y.read::<u32>().unwrap(), [3; 64]);
        let before = device.counters();
        let most = device.caps().groups_max;
        for grid in [[most + 1, 1, 1], [1, most + 1, 1], [1, 1, u32::MAX], [0, 1, 1]] {
            for error in [
                device.launch(&kernel, grid, (2u32, &y)).unwrap_err(),
                device.capture(|c| c.launch(&kernel, grid, (2u32, &y))).map(drop).unwrap_err(),
            ] {
                let text = error.to_string();
                assert!(matches!(&error, ServerError::InvalidGrid { .. }), "{grid:?}: {error:?}");
                assert!(text.contains("times"), "{text}");
            }
        }
        assert_eq!(device.counters().launches, before.launches, "nothing was launched");
        let (graph, ()) = device
            .capture(|c| {
                let grid = c.grid_param("grid", Grid::groups(1), Grid::groups(4));
                c.launch(&kernel, &grid, (2u32, &y))
            })
            .unwrap();
        for groups in [[5, 1, 1], [u32::MAX, 1, 1], [0, 1, 1]] {
            assert!(graph.update(|update| update.grid("grid", groups)).is_err(), "{groups:?}");
        }
        graph.replay().unwrap().wait().unwrap();
        assert_eq!(y.read::<u32>().unwrap(), [6; 64], "one replay, over the grid that it had");
        assert_works(device);
    });
}
