"""The reason of an error that Spark has wrapped."""

from streamlog.errors import ConfigError
from streamlog.spark.pipeline.reasons import lines_of, reason_of

STACK = "Traceback (most recent call last):\n" + 30 * (
    '  File "stream.py", line 7, in read\n    yield from batches\n    ^^^^^^^\n\n'
)
RAISED = "streamlog.errors.RequestTimeout: no answer"
NOTE = "brokers were away for 5 s, which brokerTimeout sets"


def test_an_error_in_a_python_worker_is_reported_first_without_its_stack() -> None:
    failed = "[STREAM_FAILED] Query [id = 7] terminated with exception: Task 0 failed"
    led_to = f"{STACK}OSError: refused\n\nThe above exception was the direct cause of this:\n\n"
    text = (
        f"{failed}\nat once: {led_to}{STACK}{RAISED}\n{NOTE}\n\n\tat org.apache.spark.Some.java\n"
    )
    assert lines_of(RuntimeError(text)) == [RAISED, NOTE, failed]
    assert reason_of(RuntimeError(text)) == RAISED
    ended = f"[PYTHON_DATA_SOURCE_ERROR] Failed to plan: {STACK}{RAISED}\n SQLSTATE: 38000"
    assert lines_of(RuntimeError(ended)) == [RAISED, "[PYTHON_DATA_SOURCE_ERROR] Failed to plan:"]


def test_all_other_errors_are_reported_unchanged() -> None:
    assert lines_of(RuntimeError("one\n  two")) == ["one", "  two"]
    assert reason_of(RuntimeError("one\n  two")) == "one"
    assert reason_of(RuntimeError("An error occurred while calling o7\n: two")) == "two"
    assert reason_of(ConfigError("one\ntwo")) == "one\ntwo"
    assert reason_of(RuntimeError()) == "RuntimeError"
