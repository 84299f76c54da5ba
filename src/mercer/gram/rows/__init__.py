"""The rows of one side of K: validated once, prepared once, columns of zeros left out."""
