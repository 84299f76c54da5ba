"""What the page shows, as pure functions: a request as JSON in, a header and arrays out."""
