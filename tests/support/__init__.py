"""Helpers that the Python tests share: debugger drivers and readers of tables and files."""
