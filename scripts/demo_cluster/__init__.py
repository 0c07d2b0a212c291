"""A demo of `everedge.cluster`: a real graph on four workers, two of which are killed, and a page about it.

`play` does it, `watch` notes what happens meanwhile, `found` is what it found, and `page` makes a document of that with `charts`.
"""
