"""``streamlog pipeline``: a job in a file, run on Spark.

    streamlog pipeline run JOB.toml

A file is read and checked as a whole (`job`, with a `section` for each table of it), its views are
made (`source`, `step`, `sink`), and only then does anything start (`run`). Nothing here imports
PySpark before it is needed: a file is checked, and a plan shown, without it.
"""
