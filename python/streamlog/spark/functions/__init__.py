"""Steps of pipelines: functions from DataFrames to DataFrames.

``streamlog pipeline`` uses them; they can also be called directly.
"""

from streamlog.spark.functions.avro import decode_avro
from streamlog.spark.functions.dates import with_date
from streamlog.spark.functions.decoding import decode_csv, decode_json
from streamlog.spark.functions.duplicates import deduplicate
from streamlog.spark.functions.encoding import encode_json
from streamlog.spark.functions.joins import join_streams, join_table
from streamlog.spark.functions.letters import dead_letters, decoded, strictly_decoded
from streamlog.spark.functions.windows import window_aggregate

__all__ = [
    "dead_letters",
    "decode_avro",
    "decode_csv",
    "decode_json",
    "decoded",
    "deduplicate",
    "encode_json",
    "join_streams",
    "join_table",
    "strictly_decoded",
    "window_aggregate",
    "with_date",
]
