"""Ridge paths by reducing K to a band."""
