"""``streamlog pipeline``: a job in a file, run on Spark.

    streamlog pipeline run JOB.toml

A file is read and validated as a whole (`job`, with a `section` for each of its tables). Then its
views are created (`source`, `step`, `sink`), and only then are queries started (`run`). Nothing
here imports PySpark before it is needed: a file is checked, and a plan shown, without it.
"""
