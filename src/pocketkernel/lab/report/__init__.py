"""What many runs show together: means and deviations in tables, lines with bands, pages that compare learners."""

from pocketkernel.lab.report.runs import charts_of, grouped, result_table, settings_tables, write_report
from pocketkernel.lab.report.tables import Cell, Column, Spread, Table

__all__ = [
    "Cell",
    "Column",
    "Spread",
    "Table",
    "charts_of",
    "grouped",
    "result_table",
    "settings_tables",
    "write_report",
]
