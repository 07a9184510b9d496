"""The face whose calls are awaited."""
