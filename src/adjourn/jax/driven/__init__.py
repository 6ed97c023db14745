"""Loops that are driven from Python: disk, kill and resume, unknown ends, unjitted steps."""
