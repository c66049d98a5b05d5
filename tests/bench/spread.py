"""Formats the results of many runs for the benchmarks."""
import statistics


def spread(values, digits=3):
    """Returns the least, median and greatest value as text."""
    return (
        f"{min(values):.{digits}f} {statistics.median(values):.{digits}f} "
        f"{max(values):.{digits}f}"
    )
