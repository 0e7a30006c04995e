// An outside control, built by nvcc: a chain of small kernels as a CUDA graph made by hand, with no Rust in the process. What
// it prints says whether the side "by hand" of the Rust measurements is as fast as by hand can be.
// nvcc -O2 -arch=native control.cu -o control && ./control
// One line of JSON for each length: microseconds until cudaGraphLaunch returns, and until the work is done.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#include "kernels.cu"

static void check(cudaError_t code, const char *call) {
    if (code != cudaSuccess) {
        std::fprintf(stderr, "error: %s: %s\n", call, cudaGetErrorString(code));
        std::exit(1);
    }
}
#define CHECK(call) check((call), #call)

static double median(std::vector<double> samples) {
    std::sort(samples.begin(), samples.end());
    return samples[samples.size() / 2];
}

static double micros_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

static void chain(unsigned length, unsigned samples) {
    unsigned n = 256;
    float a = 1.0f;
    std::vector<float> ones(n, 1.0f);
    float *x = nullptr, *y = nullptr;
    CHECK(cudaMalloc((void **)&x, n * sizeof(float)));
    CHECK(cudaMalloc((void **)&y, n * sizeof(float)));
    CHECK(cudaMemcpy(x, ones.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemset(y, 0, n * sizeof(float)));
    CHECK(cudaDeviceSynchronize());

    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cudaGraph_t graph;
    CHECK(cudaGraphCreate(&graph, 0));
    void *arguments[] = {&x, &y, &a, &n};
    cudaKernelNodeParams params = {};
    params.func = (void *)step;
    params.gridDim = dim3(1);
    params.blockDim = dim3(256);
    params.kernelParams = arguments;
    cudaGraphNode_t last = nullptr;
    for (unsigned node = 0; node < length; node++) {
        cudaGraphNode_t added;
        CHECK(cudaGraphAddKernelNode(&added, graph, node == 0 ? nullptr : &last, node == 0 ? 0 : 1, &params));
        last = added;
    }
    cudaGraphExec_t executable;
    CHECK(cudaGraphInstantiate(&executable, graph, 0));

    const unsigned warm_up = 20;
    std::vector<double> issue, total;
    for (unsigned run = 0; run < warm_up + samples; run++) {
        auto start = std::chrono::steady_clock::now();
        CHECK(cudaGraphLaunch(executable, stream));
        double issued = micros_since(start);
        CHECK(cudaStreamSynchronize(stream));
        double done = micros_since(start);
        if (run >= warm_up) {
            issue.push_back(issued);
            total.push_back(done);
        }
    }
    std::vector<float> result(n);
    CHECK(cudaMemcpy(result.data(), y, n * sizeof(float), cudaMemcpyDeviceToHost));
    for (float value : result) {
        if (value != (float)length * (float)(warm_up + samples)) {
            std::fprintf(stderr, "error: a chain of %u computed %f\n", length, value);
            std::exit(1);
        }
    }
    std::printf("{\"side\": \"nvcc\", \"work\": \"chain\", \"nodes\": %u, \"issue_us\": %.3f, \"total_us\": %.3f}\n", length,
                median(issue), median(total));
    CHECK(cudaGraphExecDestroy(executable));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(x));
    CHECK(cudaFree(y));
}

int main() {
    for (unsigned length : {1u, 10u, 100u, 1000u}) {
        chain(length, 600);
    }
    return 0;
}
