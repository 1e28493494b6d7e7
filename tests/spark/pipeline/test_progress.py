"""How far a stream is behind."""

from streamlog.spark.pipeline.progress import lag


def test_lag_is_what_lies_between_what_was_read_and_the_end_of_each_partition() -> None:
    read = {"orders": {"0": 10, "1": 5}, "returns": {"0": 7}}
    latest = {"orders": {"0": 12, "1": 5, "2": 3}, "returns": {"0": 7}}
    assert lag(read, latest) == {"orders": 5, "returns": 0}


def test_a_topic_that_was_cut_back_has_no_lag_below_nothing() -> None:
    assert lag({"orders": {"0": 10}}, {"orders": {"0": 4}}) == {"orders": 0}
