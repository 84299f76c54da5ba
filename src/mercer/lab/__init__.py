"""The laboratory: a web page on the real engine, served to this machine by `mercer lab`.

`compute` is the whole of the mathematics: a request in, numbers and fields out, without sockets or
processes. `serving` holds the web server and the worker processes, `static` the page.
"""
