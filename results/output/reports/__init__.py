"""Findings and judgements as continuous integration reads them: comments, annotations, JUnit, JSON with a schema.

Imports results.judgement; imported by results.commands.
"""
