"""What is wanted of a figure, and whether it is reached."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Goal:
    """`must` is the least that is accepted, `aim` what is worked towards; `at_most` says that less is better."""

    must: float
    aim: float | None = None
    at_most: bool = False

    def _met(self, value, limit):
        return value <= limit if self.at_most else value >= limit

    def verdict(self, value):
        if self.aim is not None and self._met(value, self.aim):
            return "aim"
        return "yes" if self._met(value, self.must) else "**no**"


@dataclasses.dataclass(frozen=True)
class Figure:
    """One figure of the results; `unit` follows the value."""

    title: str
    value: float
    goal: Goal | None = None
    unit: str = ""
    digits: int = 2

    def text(self, value):
        return f"{value:,.{self.digits}f}" + (f" {self.unit}" if self.unit else "")

    def row(self):
        """A row of the table of goals."""
        must = aim = verdict = "–"
        if self.goal:
            sign = "≤ " if self.goal.at_most else "≥ "
            must = sign + self.text(self.goal.must)
            aim = sign + self.text(self.goal.aim) if self.goal.aim is not None else "–"
            verdict = self.goal.verdict(self.value)
        return f"| {self.title} | {self.text(self.value)} | {must} | {aim} | {verdict} |"
