"""The command line: the library's words, for people and (with ``--json``) for programs."""
