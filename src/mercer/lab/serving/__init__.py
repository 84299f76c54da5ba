"""The web server of the laboratory, and the processes that compute for it."""
