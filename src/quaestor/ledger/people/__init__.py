"""People: who may do what, how they show who they are, and a trail of what changed."""
