"""What can be computed exactly for the course: one module a subject, each value from a formula or from real arithmetic."""
