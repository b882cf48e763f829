"""Measurements beyond single operations. Each takes the stand and returns figures."""

from experiments import bring, busy, classes, cloud, large_answer, metrics, push, rows, start, transfers

# The soak is separate, because its duration is an argument.
EXPERIMENTS = {
    "start": start.run,
    "large-answer": large_answer.run,
    "busy": busy.run,
    "rows": rows.run,
    "classes": classes.run,
    "import": bring.run,
    "cloud": cloud.run,
    "push": push.run,
    "metrics": metrics.run,
    "transfers": transfers.run,
}
