"""Credentials: lent to one process, for as long as it runs, and seen nowhere else.

Nothing that is imported with this package imports a client library: a source does when it is first asked.
"""
