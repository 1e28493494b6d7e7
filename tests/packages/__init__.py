"""Tests of what is handed out: wheels and the sdist."""
