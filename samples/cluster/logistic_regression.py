"""Logistic regression on rows that no memory holds, by gradient descent on Dask: ``python logistic_regression.py [ROWS] [ADDRESS]``.

Rows are drawn where they are computed with (100 million of 20 features, 16 GB if they were kept), a chunk at a time on each thread.
With the address of a scheduler the workers of its cluster compute, otherwise the threads of this process.
"""

import sys

import dask.array as da
import numpy as np

import gradcli

ROWS = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000_000
FEATURES, CHUNK, STEPS = 20, min(1_000_000, -(-ROWS // 4)), 25

if len(sys.argv) > 2:
    from dask.distributed import Client

    Client(sys.argv[2])

truth = np.linspace(-1, 1, FEATURES)
random = da.random.default_rng(0)
x = random.standard_normal((ROWS, FEATURES), chunks=(CHUNK, FEATURES))
y = da.sign(x @ truth + random.logistic(size=ROWS, chunks=CHUNK))

loss = gradcli.value_and_grad("mean(log(1 + exp(-y*(x @ w)))) + 1e-4*sum(w**2)", wrt="w")
w = np.zeros(FEATURES)
for step in range(STEPS):
    value, gradients = loss(x=x, y=y, w=w)
    value, gradient = da.compute(value, gradients["w"])
    w -= 4 * gradient
    print(f"step {step:2}  loss {value:.6f}")
print("largest error of a weight:", f"{abs(w - truth).max():.3f}")
