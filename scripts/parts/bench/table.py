"""The table that scripts/parts/bench/queue prints."""

import os


class Table:
    """The figures and their bounds."""

    def __init__(self):
        self.rows = []

    def add(self, what, value, unit, least=None, most=None):
        bound = f"must reach {least:,.10g}" if least else f"must not pass {most:,.10g}" if most else ""
        missed = bool(least and value < least or most and value > most)
        figure = f"{value:,.2f}" if value < 100 else f"{value:,.0f}"
        self.rows.append((what, figure, unit, bound, "missed" if missed else ""))
        print(f"{what}: {figure} {unit}" + (f" ({bound})" if bound else ""), f"[load {os.getloadavg()[0]:.1f}]", flush=True)
        return value

    def end(self):
        """Prints everything; returns whether all bounds hold."""
        print()
        for what, value, unit, bound, missed in self.rows:
            print(f"{what:<55} {value:>9} {unit:<7} {bound:<21} {missed}".rstrip())
        return not any(row[4] for row in self.rows)
