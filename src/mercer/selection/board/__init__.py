"""The scoreboard and how it is shown."""
