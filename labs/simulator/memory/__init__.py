"""What fills a GPU's memory, when it stops fitting, and what an engine says then."""
