"""The face that blocks."""
