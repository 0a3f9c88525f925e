"""Linear algebra: products, factors, equations, spectra, functions and norms of matrices."""
