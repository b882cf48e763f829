"""Measurements beyond single operations. Each takes the stand and returns figures."""

from experiments import bring, busy, classes, cloud, large_answer, metrics, push, routes, rows, start, transfers

# The soak is separate, because its duration is an argument.
EXPERIMENTS = {
    "start": start.run,
    "large-answer": large_answer.run,
    "busy": busy.run,
    "rows": rows.run,
    "classes": classes.run,
    "import": bring.run,
    "cloud": cloud.run,
    "routes": routes.run,
    "push": push.run,
    "metrics": metrics.run,
    "transfers": transfers.run,
}
