"""What people read: a run, a plan or a question's answer as text, JSON, Markdown or HTML.

The input is always the plain dictionary that a runner verb returns (docs/returns.md), so that a report can be
made from a live run, from the run log or from a file. Libraries are imported where they are used: a run with
nothing to do pays for none.
"""
