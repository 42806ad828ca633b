"""Where the course is written: versions of its pieces, what is served of them, files taken in and written out."""
