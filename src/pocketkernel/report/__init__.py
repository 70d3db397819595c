"""What records show: tables, charts, pages. Reads records, never learners."""

from pocketkernel.report.charts import Chart, Series, charts_of, line_chart
from pocketkernel.report.html import write_report
from pocketkernel.report.picture import write_picture
from pocketkernel.report.tables import Column, Spread, Table, result_table

__all__ = [
    "Chart",
    "Column",
    "Series",
    "Spread",
    "Table",
    "charts_of",
    "line_chart",
    "result_table",
    "write_picture",
    "write_report",
]
