"""Matrix identities: trace, determinant, inverse, solutions, quadratic forms; transposed and
swapped claims.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from battery.arrays import rows_of, some

A, B, M34, V = some(3, 3) + 3 * np.eye(3), some(3, 3), some(3, 4), some(3)
S = A @ A.T
INV = np.linalg.inv(A)
DET = np.linalg.det(A)
X = np.linalg.solve(A, V)
NEARLY = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-9]])
HILBERT = scipy.linalg.hilbert(4)

ROWS = rows_of("matrices.jsonl", globals())
