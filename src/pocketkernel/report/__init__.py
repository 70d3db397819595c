"""What a run shows: charts, tables, a page. Reads records, never learners."""

from pocketkernel.report.certificate import certificate_charts, certificate_tables
from pocketkernel.report.charts import Chart, Series
from pocketkernel.report.page import Step, write_page
from pocketkernel.report.picture import write_picture
from pocketkernel.report.run import charts_of, write_report
from pocketkernel.report.tables import Column, Table

__all__ = [
    "Chart",
    "Column",
    "Series",
    "Step",
    "Table",
    "certificate_charts",
    "certificate_tables",
    "charts_of",
    "write_page",
    "write_picture",
    "write_report",
]
