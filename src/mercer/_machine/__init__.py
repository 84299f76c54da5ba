"""What the machine gives: cores, memory, threads, compiled code and where that is kept."""
