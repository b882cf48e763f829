"""Measurements that are not of one operation alone. Each takes the stand and gives figures for the results."""

from experiments import bring, busy, classes, cloud, large_answer, metrics, push, rows, start, transfers

# The soak is not among them: it takes as long as it is told.
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
