"""What Python tests share: GDB, callgrind_annotate, readers of tables and files."""
