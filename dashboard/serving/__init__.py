"""Requests and answers of the dashboard, whatever its pages show: who is answered, what is refused, how it is sent.

Knows no page; imported by dashboard.app, dashboard.command and the pages that write.
"""
