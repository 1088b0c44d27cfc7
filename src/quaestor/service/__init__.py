"""The service: analysts ask over HTTP, with a token and nothing else; the data stay where they are.

``quaestor serve`` starts it; :func:`quaestor.service.app.build_app` makes the application. Every
route says who may use it (:mod:`quaestor.service.rules`); a route that does not cannot exist.
"""
