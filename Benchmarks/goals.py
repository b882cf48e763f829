"""Figures, their goals, and whether these are met."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Goal:
    """`minimum` is the limit. With `at_most` it is an upper limit."""

    minimum: float
    at_most: bool = False

    def is_met(self, value):
        return value <= self.minimum if self.at_most else value >= self.minimum


@dataclasses.dataclass(frozen=True)
class Figure:
    """One figure of the results. `unit` follows the value."""

    title: str
    value: float
    goal: Goal | None = None
    unit: str = ""
    digits: int = 2

    def text(self, value):
        return f"{value:,.{self.digits}f}" + (f" {self.unit}" if self.unit else "")

    def row(self):
        """Returns the row in the table of goals."""
        wanted = verdict = "–"
        if self.goal:
            wanted = ("≤ " if self.goal.at_most else "≥ ") + self.text(self.goal.minimum)
            verdict = "yes" if self.goal.is_met(self.value) else "**no**"
        return f"| {self.title} | {self.text(self.value)} | {wanted} | {verdict} |"
