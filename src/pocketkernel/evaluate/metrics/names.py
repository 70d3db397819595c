"""Names of baselines, as people read them."""

BASELINES = {
    "majority": "always the most frequent class",
    "last_label": "the last label again",
    "linear": "the linear part alone",
    "without_last_labels": "without the last labels",
    "mean": "the mean so far",
    "last_value": "the last value again",
}
"""What each baseline predicts."""
