"""A package by name, so that a dependency that installs one of the same name does not hide it."""
