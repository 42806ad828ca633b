"""Reading: lessons, keywords, checks, predictions, drills."""
