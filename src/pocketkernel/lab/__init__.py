"""The laboratory: the paper's tables, theory, bounds, data sets and comparisons. Nothing outside imports it."""
