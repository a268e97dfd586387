"""Real servers of the tests' own: PostgreSQL and Apache Spark, on loopback, gone when the tests are."""
