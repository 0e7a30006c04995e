// The kernels that Graphreel's are measured against, as they are written by hand. NVRTC compiles this file where the
// measurements run; control.cu includes it for nvcc. The larger ones do what the shader of the same name does, step by step.

// One step of a chain: 256 elements in one block.
extern "C" __global__ void step(const float *__restrict__ x, float *__restrict__ y, float a, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] += a * x[i];
    }
}

extern "C" __global__ void saxpy(const float *__restrict__ x, float *__restrict__ y, float a, unsigned n) {
    unsigned stride = gridDim.x * 256u;
    for (unsigned i = blockIdx.x * 256u + threadIdx.x; i < n; i += stride) {
        y[i] = a * x[i] + y[i];
    }
}

extern "C" __global__ void reduce_sum(const float *__restrict__ input, float *__restrict__ partials, unsigned n) {
    __shared__ float sums[256];
    unsigned lane = threadIdx.x;
    unsigned stride = gridDim.x * 256u;
    float sum = 0.0f;
    for (unsigned i = blockIdx.x * 256u + lane; i < n; i += stride) {
        sum += input[i];
    }
    sums[lane] = sum;
    for (unsigned half = 128u; half > 0u; half /= 2u) {
        __syncthreads();
        if (lane < half) {
            sums[lane] += sums[lane + half];
        }
    }
    if (lane == 0u) {
        partials[blockIdx.x] = sums[0];
    }
}

#define TILE 16u

extern "C" __global__ void matmul(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c,
                                  unsigned m, unsigned n, unsigned k) {
    __shared__ float left[TILE][TILE];
    __shared__ float right[TILE][TILE];
    unsigned x = threadIdx.x;
    unsigned y = threadIdx.y;
    for (unsigned top = blockIdx.y * TILE; top < m; top += gridDim.y * TILE) {
        for (unsigned side = blockIdx.x * TILE; side < n; side += gridDim.x * TILE) {
            unsigned row = top + y;
            unsigned column = side + x;
            float sum = 0.0f;
            for (unsigned first = 0u; first < k; first += TILE) {
                // Beyond the edge a tile holds zeros, which add nothing.
                left[y][x] = row < m && first + x < k ? a[row * k + first + x] : 0.0f;
                right[y][x] = first + y < k && column < n ? b[(first + y) * n + column] : 0.0f;
                __syncthreads();
                for (unsigned i = 0u; i < TILE; i += 1u) {
                    sum += left[y][i] * right[i][x];
                }
                __syncthreads();
            }
            if (row < m && column < n) {
                c[row * n + column] = sum;
            }
        }
    }
}
