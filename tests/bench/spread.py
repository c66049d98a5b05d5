"""How the benchmarks tell many runs."""
import statistics


def spread(values, digits=3):
    """Least, median, most."""
    return (f"{min(values):.{digits}f} {statistics.median(values):.{digits}f} "
            f"{max(values):.{digits}f}")
