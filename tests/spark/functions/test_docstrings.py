"""Every function has examples in its docstring, and they run."""

from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, DocTestRunner

import pytest
from pyspark.sql import SparkSession

from pages.docstrings import Docstring, docstrings
from streamlog.spark import functions

FUNCTIONS = {
    docstring.name: docstring
    for docstring in docstrings()
    if docstring.path.startswith("python/streamlog/spark/functions/")
}


@pytest.mark.parametrize("name", functions.__all__)
def test_the_example_does_what_it_shows(name: str, spark: SparkSession) -> None:
    docstring: Docstring = FUNCTIONS[name]
    names = {each: getattr(functions, each) for each in functions.__all__}
    examples = docstring.examples({**names, "spark": spark})
    assert examples.examples
    said: list[str] = []
    DocTestRunner(optionflags=ELLIPSIS | NORMALIZE_WHITESPACE).run(examples, out=said.append)
    assert said == [], "".join(said)
