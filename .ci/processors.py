"""Features to switch off for NumPy to compute as on older processors: for each of them, a value of
NPY_DISABLE_CPU_FEATURES.

None where this processor has nothing beyond what NumPy needs; other architectures have other names,
or nothing to switch off.
"""

try:
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
except ImportError:  # it is no public name
    __cpu_dispatch__, __cpu_features__ = [], {}

there = [name for name in __cpu_dispatch__ if __cpu_features__.get(name)]
wide = [
    name for name in there if name.startswith(("AVX512", "X86_V4"))
]  # AVX-512, with Intel's functions
for names in dict.fromkeys((" ".join(wide), " ".join(there))):
    if names:
        print(names)
