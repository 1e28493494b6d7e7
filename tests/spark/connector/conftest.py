"""The connector's jars, on the session that all tests share."""

import pytest
from pyspark.sql import SparkSession

from spark.connector.jars import JARS


@pytest.fixture(scope="session")
def kafka(spark: SparkSession) -> SparkSession:
    """The session, which knows `format("kafka")` from now on."""
    for module, version in JARS.items():
        try:
            spark.sql(f"ADD JAR 'ivy://{module}:{version}?transitive=false'").collect()
        except Exception as error:
            pytest.fail(f"Maven Central does not give {module}:{version}: {error}")
    return spark
