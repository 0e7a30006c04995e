"""PyTorch's replay of a CUDA graph: the chain of small kernels that Graphreel's measurements use, 256 elements a node.

Prints one line of JSON for each length: microseconds until the replay returns, and until the work is done.
"""

import json
import statistics
import sys
import time

import torch

LENGTHS = (1, 10, 100, 1000)
WARM_UP, SAMPLES = 20, 600


def chain(length):
    x = torch.ones(256, device="cuda")
    y = torch.zeros(256, device="cuda")
    # PyTorch wants the work done once on a side stream before it is captured.
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        y.add_(x, alpha=1.0)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(length):
            y.add_(x, alpha=1.0)
    torch.cuda.synchronize()
    y.zero_()
    torch.cuda.synchronize()
    issue, total = [], []
    stream = torch.cuda.current_stream()
    for run in range(WARM_UP + SAMPLES):
        start = time.perf_counter_ns()
        graph.replay()
        issued = time.perf_counter_ns()
        stream.synchronize()
        done = time.perf_counter_ns()
        if run >= WARM_UP:
            issue.append((issued - start) / 1e3)
            total.append((done - start) / 1e3)
    wanted = float(length * (WARM_UP + SAMPLES))
    if not bool((y == wanted).all()):
        sys.exit(f"error: a chain of {length} computed {y[0].item()}, not {wanted}")
    return {
        "side": f"pytorch {torch.__version__}",
        "work": "chain",
        "nodes": length,
        "issue_us": round(statistics.median(issue), 3),
        "total_us": round(statistics.median(total), 3),
    }


if __name__ == "__main__":
    if not torch.cuda.is_available():
        sys.exit("error: PyTorch finds no CUDA device")
    for nodes in LENGTHS:
        print(json.dumps(chain(nodes)), flush=True)
